/**
 * The descriptor of a dialect: everything that the gateway knows about an API, in one object. Each folder of `dialects/`
 * exports one, and no other code knows a dialect's fields. Bytes pass between a client and an upstream of the same
 * dialect (ByteLane); between different ones the hub converts through the neutral form of neutral/types.ts (Codec).
 */

import type { IncomingHttpHeaders } from 'node:http'
import type { ApiName } from '../../../contract/apis.ts'
import type { GatewayError } from '../../errors.ts'
import type { ByteLane } from './byte-lane.ts'
import type { Chains } from './chains.ts'
import type { ClientCodec, Codec } from './codec.ts'
import type { Wordings } from './errors/wordings.ts'
import type { LossNames } from './neutral/losses.ts'
import type { ModelRequest, PartFilter } from './neutral/types.ts'
import type { RateLimits } from './rate-limits.ts'
import type { FormLimits, JsonLimits, ParsedRequest, ParsedUpload } from './request.ts'

/** The API of an endpoint. `Own`: facts that its parsed requests carry for its own functions. */
export interface ClientApi<Own = unknown> {
  readonly name: string
  /**
   * Checks the required fields and reads the head. Throws GatewayError (invalid_request, unsupported_parameter) naming
   * the field. `url`: of the request, for dialects that name the model in it.
   */
  parseRequest(
    body: Buffer,
    limits: JsonLimits,
    headers: IncomingHttpHeaders,
    url?: string,
  ): ParsedRequest<Own>
  /** Content types of requests besides JSON. */
  readonly forms?: readonly string[]
  /** Like parseRequest, for a form that is too large for memory; `prefix` is its beginning. Absent: no such forms. */
  parseUpload?(
    prefix: Buffer,
    limits: FormLimits,
    headers: IncomingHttpHeaders,
    url?: string,
  ): ParsedUpload<Own>
  /** The path below a channel's base URL, with a query where the dialect has one. `model`: the upstream's name for it. */
  upstreamPath(model: string, stream: boolean): string
  readonly byteLane: ByteLane<Own>
  /** Absent: its requests are never converted. */
  readonly codec?: ClientCodec<Own>
  readonly chains?: Chains<Own>
  /** Its names for typed fields. */
  readonly lossNames: LossNames
  /** The gateway's own answer if the upstream has no such endpoint; `inputTokens` is an estimate. */
  estimate?(request: ParsedRequest<Own>, inputTokens: number): object
  /** The error body of this API. */
  errorBody(error: GatewayError, requestId: string): object
  /** How clients learn what is left of their rate limits. `nowMs`: since the epoch. */
  rateLimitHeaders(limits: RateLimits, nowMs: number): Record<string, string>
  /** The event that ends a stream with an error before its first event. */
  errorEvent(error: GatewayError, requestId: string): Buffer
  /** Sent when a stream was silent for a while. Before the first event a comment is sent instead. */
  readonly keepAlive: Buffer
}

/** How tools are written for an upstream. */
export interface ToolRules {
  /** In characters. */
  maxNameLength: number
  /** False: a namespace becomes part of the name. */
  namespaces: boolean
  /** Free-text tools are possible, if features.customTools allows them; false: they become functions. */
  customTools: boolean
  /** The tool choice may list allowed tools; false: only allowed tools are declared. */
  allowedTools: boolean
  /** Declare called tools when the request declares none: upstreams would refuse the calls in the history. */
  declaresCalled: boolean
  /** True for a call id that upstreams accept. */
  isCallId(id: string): boolean
}

/** How to prepare conversations of other dialects for an upstream's encoder. */
interface ConversationRules {
  tools: ToolRules
  /** False: the gateway itself cuts answers at stop sequences. */
  stopSequences: boolean
  adaptRequest?(request: ModelRequest): ModelRequest
  /** Undoes adaptRequest in the answer. */
  adaptAnswer?: PartFilter
}

/** An API that the hub converts from and to. */
export interface Dialect<Own = unknown> extends ClientApi<Own> {
  readonly name: ApiName
  readonly codec: Codec<Own>
  /** Kinds of vendor state that its upstreams send (see Carrier). */
  readonly carriers: readonly string[]
  /** How its vendors word their errors. */
  readonly wordings: readonly Wordings[]
  /** Absent: upstreams take a single prompt without history and tools. */
  readonly conversation?: ConversationRules
  /** Headers that its upstreams require besides the credential, names in lower case. `body`: of a request. */
  versionHeaders?(body: Record<string, unknown>): Record<string, string>
  /** A header that only its clients send, in lower case: it identifies the dialect if the path does not. */
  readonly clientHeader?: string
  /** Matches the `format` that selects this dialect at the relay; absent: the relay's default. */
  readonly relayFormat?: RegExp
}
