/**
 * The descriptor of a dialect: everything that the gateway knows about an API, in one object. Each folder of `dialects/`
 * exports one, and no other code knows a dialect's fields. Bytes pass between a client and an upstream of the same
 * dialect (ByteLane); between different ones the hub converts through the neutral form of neutral/types.ts (Codec).
 */
import type { IncomingHttpHeaders } from 'node:http'
import type { ApiName } from '../../../contract/endpoints.ts'
import type { Features } from '../../../contract/profiles.ts'
import type { Delivered, InputSize } from '../../../contract/sizes.ts'
import type { Usage } from '../../../contract/usage.ts'
import type { GatewayError, UpstreamFailure } from '../../errors.ts'
import type { Chains } from './chains.ts'
import type { Wordings } from './errors/wordings.ts'
import type { Change } from './json/edit.ts'
import type { Cut } from './json/splice.ts'
import type { Losses, LossNames } from './neutral/losses.ts'
import type { Envelopes, ModelAnswer, ModelRequest, PartFilter, StreamPart } from './neutral/types.ts'

/** The fields of a request that the gateway needs to route it and to hold money for it. */
export interface RequestHead {
  model: string
  stream: boolean
  /** The client's own limit on output tokens, if any; 0 where an answer has no tokens. */
  maxOutputTokens?: number
  /** Number of images in the answer. */
  images?: number
  /** The client's key for prompt caches: requests with the same key share one. */
  cacheKey?: string
  /** Number of requested answers (`n`); each may use the whole output limit. */
  choices: number
  /** Requested service tier, such as `priority`; `fast` for a request for speed. */
  tier?: string
  /** True when the client itself requested usage in the stream. */
  wantsStreamUsage: boolean
  input: InputSize
}

/** Bounds on a JSON body, checked before it is parsed. */
export interface JsonLimits {
  maxDepth: number
  /** Object keys in the whole body. */
  maxKeys: number
  /** Elements and members in the whole body; absent: no limit. */
  maxValues?: number
  /** Bounds on a form instead of JSON; absent: forms are refused. */
  form?: FormLimits
  /** The request only prepares a conversation, and may have no input. */
  mayBeEmpty?: boolean
}

/** Bounds on a form (multipart/form-data). */
export interface FormLimits {
  maxParts: number
  maxFiles: number
  /** Of one file. */
  maxFileBytes: number
  /** Of one text field. */
  maxFieldBytes: number
}

/** A request body that passed the checks of its dialect. */
export interface ParsedRequest {
  head: RequestHead
  /** The bytes that the client sent; never changed. */
  body: Buffer
  /** Of the body; absent: application/json. */
  contentType?: string
  /** The body is only the beginning of the request: see ParsedUpload. */
  goesOn?: true
  /** The client requests a compacted conversation, which not every upstream of its API can make. */
  compacts?: true
  /** Client headers that mean something in the dialect, such as a version; names in lower case. */
  headers: Record<string, string>
}

/** A request that is too large to hold in memory. */
export interface ParsedUpload {
  request: ParsedRequest
  /** Received bytes to send after the spliced body. */
  first: Buffer[]
  rest: BodyRest
}

/** Converts the rest of a request's bytes for the upstream, as they arrive. */
export interface BodyRest {
  /** Throws GatewayError for invalid bytes. */
  push(chunk: Buffer): Buffer[]
  /** Called after the last byte. Throws GatewayError for an incomplete request; once it returns, the request is valid. */
  end(): Buffer[]
}

/** Changes spliced into the request's bytes. The rest reaches the upstream as the client wrote it. */
export interface RequestEdits {
  /** Upstream model name. */
  model: string
  /** Request usage in the stream, where the dialect reports it only on request. */
  askStreamUsage: boolean
  /** Further cuts in the body, which do not overlap these edits. */
  cuts?: readonly Cut[]
}

/** Options for opening the vendor state in a request that passes as bytes. */
export interface StateAccess {
  envelopes: Envelopes
  /** Remove all vendor state, because an upstream refused that of this conversation. */
  withoutCarriers: boolean
  /** Records the removed fields. */
  losses: Losses
}

/** A task that the gateway does with an upstream's model, such as a summary of the conversation. */
export interface Emulation {
  /** The request to the model. */
  request: ModelRequest
  /** The client's answer, made from the model's. */
  answer(written: ModelAnswer, client: ClientView): ModelAnswer | UpstreamFailure
  /** Writes that answer as a stream; `encoder` is that of the client. */
  stream(encoder: StreamEncoder, client: ClientView): StreamEncoder
}

/** A complete answer, ready for the client. */
export interface Answer {
  body: Buffer
  usage?: Usage
  /** Tier that served the request, if the upstream reports it. */
  tier?: string
  /** Model output, for an estimate when usage is missing. */
  delivered: Delivered
}

/** Converts the bytes of one upstream stream for the client. */
export interface StreamObserver {
  /** True once an event of the answer arrived; pings and comments do not count. */
  readonly begun: boolean
  /** Takes a chunk and returns whole events for the client. Throws EventTooLarge past a limit. */
  push(chunk: Buffer): Buffer | undefined
  /** Set by an error event; push returns neither that event nor any after it. */
  readonly failure: UpstreamFailure | undefined
  /** True when the stream had the event that ends a finished answer in its dialect. */
  readonly finished: boolean
  /** True after the last event of a stream: the caller need not read on, and may close the connection. */
  readonly done: boolean
  readonly usage: Usage | undefined
  readonly tier: string | undefined
  readonly delivered: Delivered
  /** Called at the end of the upstream's stream. Returns a last event that lacked its empty line, if there is one. */
  flush(): Buffer | undefined
  /** The event that ends this stream with an error, in the state that it is in. */
  errorEvent(error: GatewayError, requestId: string): Buffer
}

/** Passes requests and answers between a client and an upstream of the same dialect. */
export interface ByteLane {
  /** The request's bytes with the edits spliced in. */
  splice(request: ParsedRequest, edits: RequestEdits): Buffer
  /**
   * Opens the vendor state that the gateway sealed: restores state of this dialect's upstreams, and removes any other
   * together with the item that carries it. Absent: requests carry none. Throws GatewayError invalid_request for an
   * unusable envelope whose removal would change the meaning of the request.
   */
  openState?(request: ParsedRequest, access: StateAccess): Change[]
  /**
   * The body that makes an upstream of this dialect do a task that it does not offer (see Emulation). `changes` are those
   * of openState.
   */
  emulate?(request: ParsedRequest, model: string, changes: readonly Change[]): Buffer
  /** Keys that lead to the model's name in a whole answer and in the data of an event. Absent: answers do not name it. */
  readonly modelAt?: { answer: readonly string[]; event: readonly string[] }
  /** Headers for the upstream besides the channel's, names in lower case. */
  upstreamHeaders(request: ParsedRequest): Record<string, string>
  /**
   * Reads a whole answer with status 200. An error body, or one that is not an answer, is a failure. With `asStream` the
   * answer becomes a stream, because some upstreams ignore `stream: true`.
   */
  readAnswer(body: Buffer, request: ParsedRequest, asStream: boolean): Answer | UpstreamFailure
  /**
   * The whole answer in the events of a finished stream, because some upstreams send unrequested streams. Absent: such a
   * stream is a failure.
   */
  fromStream?(events: Buffer): object
  /**
   * Observer for a stream, whose events pass as bytes. `addedUsage`: the gateway requested the usage event, so it is
   * withheld from a client that did not. `finishReason` (default true): the channel's feature.
   */
  observe(
    request: ParsedRequest,
    maxEventBytes: number,
    addedUsage: boolean,
    finishReason?: boolean,
  ): StreamObserver
}

/** The upstream that a request is encoded for. */
export interface EncodeTarget {
  /** Upstream model name. */
  model: string
  features: Features
  /** Output limit if the dialect requires one and the client set none. */
  defaultMaxOutputTokens: number
  /** Records the typed fields that the encoder drops. */
  losses: Losses
}

/** A request in the upstream's dialect. */
export interface EncodedRequest {
  body: Record<string, unknown>
  /** Sent instead of `body`. */
  form?: Form
  /** Names in lower case. */
  headers?: Record<string, string>
  /** Below the base URL; absent: the dialect's path. */
  path?: string
}

/** A body that is not JSON. */
interface Form {
  contentType: string
  bytes: Buffer
}

/** The client of an answer, and its request. */
export interface ClientView {
  request: ModelRequest
  /** The same request as the client sent it: some dialects repeat its fields in the answer. */
  parsed: ParsedRequest
  /** Random letters and digits, from which all ids of the answer are made: `chatcmpl-<x>`, `resp_<x>`, `msg_<x>`. */
  id: string
  /** Seconds since the epoch. */
  created: number
  /** Estimate of prompt tokens, for events that must name them before the upstream does. */
  inputTokens: number
  envelopes: Envelopes
  /** Records the fields of the answer that the encoder drops. */
  losses: Losses
}

/** Reads the events of one upstream stream. */
export interface StreamDecoder {
  /** Takes one server-sent event, and emits its parts before it returns. `event` is '' when the stream names none. */
  event(event: string, data: string): void
  /** Called when the upstream has closed the stream. Emits the finish if the answer is complete, else nothing. */
  end(): void
  /** Set by an error event of the upstream; no part is emitted after it. */
  readonly failure: UpstreamFailure | undefined
  /** The answer is complete, so that end() has emitted, or would emit, its finish. */
  readonly finished: boolean
  /** No event that matters can follow. */
  readonly done: boolean
  /**
   * True when the decoder does not keep the current text, so that it need not see each delta (hub/repeats.ts). Read after
   * each event.
   */
  readonly forgetsText?: boolean
}

/** The features that a stream is checked against. */
export type StreamFeatures = Pick<Features, 'finishReason'>

/** Writes the events of one client stream. */
export interface StreamEncoder {
  part(part: StreamPart): void
  /** The text of all events since the last call; '' when there is none. */
  take(): string
  /** The event that ends the stream with an error, in the state that it is in. */
  error(error: GatewayError, requestId: string): string
  /** The answer lacks required content. No event was written, so another upstream may be tried. */
  readonly failure?: UpstreamFailure | undefined
}

/** The client's side of a conversion: decodes requests, encodes answers. */
export interface ClientCodec {
  /**
   * Throws GatewayError naming the field: invalid_request for a malformed one, unsupported_parameter for one that only
   * this dialect can express.
   */
  decodeRequest(request: ParsedRequest, envelopes: Envelopes): ModelRequest
  /**
   * Throws GatewayError for a request that only an upstream of this dialect can serve: it names stored state or
   * containers. Called before a request is encoded into another dialect.
   */
  refuseStateful?(request: ModelRequest): void
  /** Absent or undefined: the request needs no emulation. Throws GatewayError for an upstream that cannot do the task. */
  emulate?(request: ModelRequest, upstream: ApiName): Emulation | undefined
  /** A failure when the answer lacks content that every client of this API requests, such as an image. */
  missingContent?(answer: ModelAnswer): UpstreamFailure | undefined
  encodeAnswer(answer: ModelAnswer, client: ClientView): object
  encodeStream(client: ClientView): StreamEncoder
}

/** The upstream's side of a conversion: encodes requests, decodes answers. */
export interface UpstreamCodec {
  /** Matches the names of the dialect's events. Absent: they have none. */
  readonly eventName?: RegExp
  /** Throws GatewayError unsupported_parameter for a field that this dialect lacks and that must not be dropped. */
  encodeRequest(request: ModelRequest, target: EncodeTarget): EncodedRequest
  /**
   * `value` is the parsed body of a 200. An error body, or one that is not an answer, is a failure. `request` is the
   * client's, in its dialect: an error names a field only if the client sent it (errors/read.ts).
   */
  decodeAnswer(value: unknown, request: ParsedRequest): ModelAnswer | UpstreamFailure
  /** `features`: of the upstream; absent: it has all of them. */
  decodeStream(
    emit: (part: StreamPart) => void,
    request: ParsedRequest,
    features?: StreamFeatures,
  ): StreamDecoder
}

/** Converts between a dialect and the neutral form. A codec changes none of its arguments. */
export interface Codec extends ClientCodec, UpstreamCodec {}

/** The API of an endpoint. */
export interface ClientApi {
  readonly name: string
  /**
   * Checks the required fields and reads the head. Throws GatewayError (invalid_request, unsupported_parameter) naming
   * the field. `url`: of the request, for dialects that name the model in it.
   */
  parseRequest(body: Buffer, limits: JsonLimits, headers: IncomingHttpHeaders, url?: string): ParsedRequest
  /** Content types of requests besides JSON. */
  readonly forms?: readonly string[]
  /** Like parseRequest, for a form that is too large for memory; `prefix` is its beginning. Absent: no such forms. */
  parseUpload?(prefix: Buffer, limits: FormLimits, headers: IncomingHttpHeaders): ParsedUpload
  /** The path below a channel's base URL, with a query where the dialect has one. `model`: the upstream's name for it. */
  upstreamPath(model: string, stream: boolean): string
  readonly byteLane: ByteLane
  /** Absent: its requests are never converted. */
  readonly codec?: ClientCodec
  readonly chains?: Chains
  /** Its names for typed fields. */
  readonly lossNames: LossNames
  /** The gateway's own answer if the upstream has no such endpoint; `inputTokens` is an estimate. */
  estimate?(request: ParsedRequest, inputTokens: number): object
  /** The error body of this API. */
  errorBody(error: GatewayError, requestId: string): object
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
export interface Dialect extends ClientApi {
  readonly name: ApiName
  readonly codec: Codec
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
