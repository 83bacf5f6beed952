/** Work on a large body that a thread of its own does: what goes in, what comes back, and the work itself. */
import type { IncomingHttpHeaders } from 'node:http'
import type { ClientApi } from '../../dialects/core/dialect.ts'
import {
  type Apart,
  type ApartTarget,
  convertApart,
  type Opened,
  type Sealed,
} from '../../dialects/core/lanes/apart.ts'
import { isSealed } from '../../dialects/core/lanes/index.ts'
import type { JsonLimits, ParsedRequest } from '../../dialects/core/request.ts'
import { DIALECTS, ENDPOINTS } from '../../dialects/index.ts'
import { GatewayError } from '../../errors.ts'

/** A JSON body that a thread reads where it is, and what its dialect needs to parse it. */
export interface SharedBody {
  /** Name of an endpoint. */
  endpoint: string
  /** A copy would cost as much as the work. */
  bytes: SharedArrayBuffer
  limits: JsonLimits
  headers: IncomingHttpHeaders
  url: string | undefined
}

export type Job =
  | { kind: 'parse'; body: SharedBody }
  | { kind: 'convert'; body: SharedBody; to: ApartTarget; opened: Opened }

/** A parsed request without its body, which the caller has, and without its value: copying that costs more than parsing. */
export type ParsedHead = Omit<ParsedRequest, 'body' | 'value'>

/** The fields of a GatewayError: classes do not pass between threads. */
type Refusal = Pick<GatewayError, 'code' | 'message' | 'status' | 'param' | 'final' | 'details'>

export type Reply =
  | { parsed: ParsedHead }
  | { converted: Apart }
  | Sealed
  | { refused: Refusal }
  | { failed: string }

const APIS = new Map<string, ClientApi>(Object.entries(ENDPOINTS).map(([name, { api }]) => [name, api]))

/** Never throws. */
export function reply(job: Job): Reply {
  try {
    const api = APIS.get(job.body.endpoint)
    if (api === undefined) throw new TypeError(`${job.body.endpoint} is not an endpoint`)
    const parsed = parse(api, job.body)
    if (job.kind === 'parse') {
      const { body, value: _value, ...head } = parsed
      return { parsed: { ...head, sealed: isSealed(api, body) } }
    }
    const sides = { client: api, upstream: DIALECTS[job.to.api] }
    const converted = convertApart(sides, parsed, job.to, job.opened)
    return 'sealed' in converted ? converted : { converted }
  } catch (error) {
    if (!(error instanceof GatewayError))
      return { failed: error instanceof Error ? String(error.stack) : 'unknown' }
    const { code, message, status, param, final, details } = error
    return { refused: { code, message, status, param, final, details } }
  }
}

function parse(api: ClientApi, { bytes, limits, headers, url }: SharedBody): ParsedRequest {
  return api.parseRequest(Buffer.from(bytes), limits, headers, url)
}

/** The error of a reply without a result. */
export function errorOf(reply: Reply): Error {
  if (!('refused' in reply)) return new Error('failed' in reply ? reply.failed : 'the reply to another job')
  const { code, message, ...options } = reply.refused
  return new GatewayError(code, message, options)
}
