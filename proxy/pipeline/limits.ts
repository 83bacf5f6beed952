import type { FormLimits, JsonLimits } from '../dialects/core/request.ts'

/** Bounds on what clients and upstreams may send and how long they may take; see docs/environment.md. */
export interface Limits {
  maxBodyBytes: number
  /** Of a form that is streamed to the upstream. */
  maxUploadBytes: number
  maxInflatedBytes: number
  /** Lower bounds for bodies, by endpoint. */
  endpointBytes: ReadonlyMap<string, number>
  maxAnswerBytes: number
  maxEventBytes: number
  json: JsonLimits & { form: FormLimits }
  streamKeepAliveMs: number
  clientStallMs: number
}
