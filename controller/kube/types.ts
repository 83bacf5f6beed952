/**
 * Access to a Kubernetes API server. The client library only provides credentials and TLS options; lists, watches and
 * retries are our own, because a controller must know exactly what they guarantee.
 */
import { z } from 'zod'

export const kubeObject = z.looseObject({
  apiVersion: z.string().optional(),
  kind: z.string().optional(),
  metadata: z.looseObject({
    name: z.string(),
    namespace: z.string().optional(),
    uid: z.string(),
    resourceVersion: z.string(),
    generation: z.number().optional(),
    /** RFC 3339. */
    creationTimestamp: z.string(),
  }),
})
/** An object from the server. */
export type KubeObject = z.output<typeof kubeObject>

export interface KubeClient {
  /**
   * Returns the parsed body of the answer. Retries if the server asks for it (429, 503 with Retry-After), within the
   * time-out. Rejects with KubeError.
   */
  request(call: KubeCall): Promise<unknown>
  /** Yields the objects of a streamed answer, one per line, until it ends. Rejects with KubeError. */
  stream(call: KubeCall): AsyncIterable<unknown>
  close(): Promise<void>
}

export interface KubeCall {
  method?: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
  /** "/apis/sluice.dev/v1alpha1/apikeys" */
  path: string
  query?: Readonly<Record<string, string>>
  body?: unknown
  /** Additional request headers, for services behind the server's proxy. */
  headers?: Readonly<Record<string, string>>
  /** Default application/json; a patch needs its own type. */
  contentType?: string
  /** For a stream: time until the answer begins. Default 10 s. */
  timeoutMs?: number
  signal?: AbortSignal
}

/** The server refused a call or could not be reached. The message contains neither tokens nor the content of a resource. */
export class KubeError extends Error {
  override name = 'KubeError'
  /** HTTP status; 0 if there was no answer. */
  readonly status: number
  /** The server's reason, such as Conflict, AlreadyExists, Expired. */
  readonly reason: string | undefined
  readonly retryAfterMs: number | undefined

  constructor(
    message: string,
    status: number,
    more: { reason?: string | undefined; retryAfterMs?: number | undefined; cause?: unknown } = {},
  ) {
    super(message, { cause: more.cause })
    this.status = status
    this.reason = more.reason
    this.retryAfterMs = more.retryAfterMs
  }
}

/** "namespace/name", or only the name of an object without a namespace. */
export function keyOf({ metadata }: KubeObject): string {
  return metadata.namespace === undefined ? metadata.name : `${metadata.namespace}/${metadata.name}`
}
