/**
 * The descriptor of a dialect: all that the gateway needs to know about an API, in one object. Each folder of
 * `dialects/` exports one, and nothing else knows a dialect's fields. Bytes pass between a client and an upstream of the
 * same dialect (ByteLane); between different ones the hub converts through the neutral form of neutral/types.ts (Codec).
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
  /** The caller's own limit on output tokens, if any; 0 where an answer has none. */
  maxOutputTokens?: number
  /** Number of images in the answer. */
  images?: number
  /** The client's key for prompt caches: requests with the same key share one. */
  cacheKey?: string
  /** Answers asked for (`n`); each may use the whole output limit. */
  choices: number
  /** Service tier asked for, such as `priority`; `fast` for a request that asks for speed. */
  tier?: string
  /** True when the client itself asked for usage in the stream. */
  wantsStreamUsage: boolean
  input: InputSize
}

/** Bounds on a JSON body, checked before it is parsed. */
export interface JsonLimits {
  maxDepth: number
  /** Object keys in the whole body. */
  maxKeys: number
  /** Elements and members in the whole body; absent: as many as its bytes hold. */
  maxValues?: number
  /** Of a form in the place of JSON; absent: none is taken. */
  form?: FormLimits
  /** The request only prepares a conversation, and may say nothing. */
  mayBeEmpty?: boolean
}

/** Bounds on a form (multipart/form-data). */
export interface FormLimits {
  maxParts: number
  maxFiles: number
  /** Of one file. */
  maxFileBytes: number
  /** Of one text. */
  maxFieldBytes: number
}

/** A request body that passed the checks of its dialect. */
export interface ParsedRequest {
  head: RequestHead
  /** The bytes as they came; never changed. */
  body: Buffer
  /** Of the body; absent: application/json. */
  contentType?: string
  /** The body is only the beginning of what is sent: see ParsedUpload. */
  goesOn?: true
  /** It asks for a shorter conversation, which not every upstream of its API can make. */
  compacts?: true
  /** Client headers that mean something in the dialect, such as a version; names in lower case. */
  headers: Record<string, string>
}

/** A request that is larger than what is held in memory. */
export interface ParsedUpload {
  request: ParsedRequest
  /** The bytes received so far that are sent behind the spliced body. */
  first: Buffer[]
  rest: BodyRest
}

/** Turns the rest of a request's bytes into those that are sent, as they arrive. */
export interface BodyRest {
  /** Throws GatewayError for bytes that the request must not have. */
  push(chunk: Buffer): Buffer[]
  /** Called behind the last byte. Throws GatewayError for an incomplete request; once it returns, the request is valid. */
  end(): Buffer[]
}

/** Changes spliced into the request's bytes; everything else reaches the upstream as the client wrote it. */
export interface RequestEdits {
  /** Upstream model name. */
  model: string
  /** Ask the upstream to report usage in the stream, where the dialect reports it on demand alone. */
  askStreamUsage: boolean
  /** More cuts in the body, which overlap none of these. */
  cuts?: readonly Cut[]
}

/** What is needed to open the vendor state in a request that passes as bytes. */
export interface StateAccess {
  envelopes: Envelopes
  /** An upstream refused the vendor state of this conversation: all of it is removed. */
  withoutCarriers: boolean
  /** Gets the names of what is removed. */
  losses: Losses
}

/** A task of the gateway that the model of an upstream does for it, such as a summary of the conversation. */
export interface Emulation {
  /** What the model is asked. */
  request: ModelRequest
  /** The client's answer, made of what the model wrote. */
  answer(written: ModelAnswer, client: ClientView): ModelAnswer | UpstreamFailure
  /** Writes that answer as a stream; `encoder` is that of the client. */
  stream(encoder: StreamEncoder, client: ClientView): StreamEncoder
}

/** A complete answer, ready for the client. */
export interface Answer {
  body: Buffer
  usage?: Usage
  /** Tier that served the request, if the upstream says so. */
  tier?: string
  /** Model output, for an estimate when usage is missing. */
  delivered: Delivered
}

/** Turns the bytes of one upstream stream into those for the client. */
export interface StreamObserver {
  /** True once an event of the answer arrived; pings and comments are none. */
  readonly begun: boolean
  /** Takes a chunk and returns what may go to the client now: whole events only. Throws EventTooLarge past a limit. */
  push(chunk: Buffer): Buffer | undefined
  /** Set as soon as the stream carried an error event; that event and what follows it are not returned by push. */
  readonly failure: UpstreamFailure | undefined
  /** True when the stream had the event by which its dialect ends a finished answer. */
  readonly finished: boolean
  /** True after the last event of a stream: nothing more is read, and the connection may be closed. */
  readonly done: boolean
  readonly usage: Usage | undefined
  readonly tier: string | undefined
  readonly delivered: Delivered
  /** Called at the end of the upstream's stream. Returns a final event that lacked its blank line, if there is one. */
  flush(): Buffer | undefined
  /** The event that ends this stream with an error, fitting what was sent before. */
  errorEvent(error: GatewayError, requestId: string): Buffer
}

/** Passes requests and answers between a client and an upstream of the same dialect. */
export interface ByteLane {
  /** The request's bytes with the edits spliced in. */
  splice(request: ParsedRequest, edits: RequestEdits): Buffer
  /**
   * Opens the vendor state that the gateway sealed: what an upstream of this dialect made goes back as it was, anything
   * else is removed together with the thing that carries it. Absent: requests carry none. Throws GatewayError
   * invalid_request for an envelope without which the request means something else.
   */
  openState?(request: ParsedRequest, access: StateAccess): Change[]
  /**
   * The body that asks an upstream of this dialect for what it does not offer by itself (see Emulation). `changes` are
   * those of openState.
   */
  emulate?(request: ParsedRequest, model: string, changes: readonly Change[]): Buffer
  /** Keys that lead to the model's name in a whole answer and in the data of an event. Absent: it is not named there. */
  readonly modelAt?: { answer: readonly string[]; event: readonly string[] }
  /** Headers that the upstream gets beside those of the channel, names in lower case. */
  upstreamHeaders(request: ParsedRequest): Record<string, string>
  /**
   * Reads a whole answer with status 200. An error body under 200, or something that is no answer, is a failure.
   * With `asStream` the answer is turned into the dialect's stream: some upstreams ignore `stream: true`.
   */
  readAnswer(body: Buffer, request: ParsedRequest, asStream: boolean): Answer | UpstreamFailure
  /**
   * The answer that the events of a finished stream add up to: some upstreams stream unasked. Absent: such a stream is
   * a failure.
   */
  fromStream?(events: Buffer): object
  /**
   * Observer for a stream: bytes pass as they are, even when the observer fails. `askedUsage`: the gateway asked for the
   * usage event, which is withheld from a client that did not. `finishReason` (default true): the channel's feature.
   */
  observe(
    request: ParsedRequest,
    maxEventBytes: number,
    askedUsage: boolean,
    finishReason?: boolean,
  ): StreamObserver
}

/** The upstream that a request is encoded for. */
export interface EncodeTarget {
  /** Upstream model name. */
  model: string
  features: Features
  /** Output limit where the dialect requires one and the client gave none. */
  defaultMaxOutputTokens: number
  /** Records the typed fields that the encoder drops. */
  losses: Losses
}

/** A request as the upstream's dialect writes it. */
export interface EncodedRequest {
  body: Record<string, unknown>
  /** Sent in place of `body`. */
  form?: Form
  /** Names in lower case. */
  headers?: Record<string, string>
  /** Below the base URL; absent: that of the dialect. */
  path?: string
}

/** A body that is not JSON. */
export interface Form {
  contentType: string
  bytes: Buffer
}

/** The client of an answer, and its request. */
export interface ClientView {
  request: ModelRequest
  /** The same request as it came: some dialects repeat its fields in the answer. */
  parsed: ParsedRequest
  /** Random letters and digits, from which all ids of the answer are made: `chatcmpl-<x>`, `resp_<x>`, `msg_<x>`. */
  id: string
  /** Seconds since the epoch. */
  created: number
  /** Estimate of prompt tokens, for events that must name them before the upstream has. */
  inputTokens: number
  envelopes: Envelopes
  /** Records the fields of the answer that the encoder drops. */
  losses: Losses
}

/** Reads the events of one upstream stream. */
export interface StreamDecoder {
  /** One server-sent event; parts are emitted while it runs. `event` is '' when the stream names none. */
  event(event: string, data: string): void
  /** The upstream has closed the stream: emits the finish if the answer was complete, and nothing if it was cut. */
  end(): void
  /** An error event of the upstream; nothing is emitted after it. */
  readonly failure: UpstreamFailure | undefined
  /** The answer is complete, so that end() has emitted, or would emit, its finish. */
  readonly finished: boolean
  /** No event that matters can follow. */
  readonly done: boolean
  /**
   * True: the decoder keeps nothing of the text that runs now, so that it need not see each delta (hub/repeats.ts).
   * Asked after each event.
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
  /** The event that ends the stream with an error, fitting what was written before. */
  error(error: GatewayError, requestId: string): string
  /** The answer lacks what the client asked for. Nothing was written, so another upstream may be tried. */
  readonly failure?: UpstreamFailure | undefined
}

/** The client's side of a conversion: decodes requests, encodes answers. */
export interface ClientCodec {
  /**
   * Throws GatewayError naming the field: invalid_request for a malformed one, unsupported_parameter for what cannot
   * leave this dialect.
   */
  decodeRequest(request: ParsedRequest, envelopes: Envelopes): ModelRequest
  /**
   * Throws GatewayError for a request that only an upstream of this dialect can serve: it names stored state or
   * containers. Called before a request is encoded into another dialect.
   */
  refuseStateful?(request: ModelRequest): void
  /** Absent, or undefined: the request is an ordinary one. Throws GatewayError for an upstream that cannot do the task. */
  emulate?(request: ModelRequest, upstream: ApiName): Emulation | undefined
  /** A failure when the answer lacks what every client of this API asks for, such as an image. */
  lacking?(answer: ModelAnswer): UpstreamFailure | undefined
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
   * `value` is the parsed body of a 200. An error body, or something that is no answer, is a failure. `request` is the
   * client's, in its dialect: an error names a field only if the client sent it (errors/read.ts).
   */
  decodeAnswer(value: unknown, request: ParsedRequest): ModelAnswer | UpstreamFailure
  /** `features`: of the upstream; absent where it has all of them. */
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
   * Checks what the interface requires and reads the head. Throws GatewayError (invalid_request,
   * unsupported_parameter) naming the field. `url` is that of the request, for dialects that name the model in it.
   */
  parseRequest(body: Buffer, limits: JsonLimits, headers: IncomingHttpHeaders, url?: string): ParsedRequest
  /** Content types of requests beside JSON. */
  readonly forms?: readonly string[]
  /** As parseRequest, for a form that is too large for memory; `prefix` is its beginning. Absent: no such forms. */
  parseUpload?(prefix: Buffer, limits: FormLimits, headers: IncomingHttpHeaders): ParsedUpload
  /** The path below a channel's base URL, with a query where the dialect has one. `model`: the upstream's name for it. */
  upstreamPath(model: string, stream: boolean): string
  readonly byteLane: ByteLane
  /** Absent: it is never converted. */
  readonly codec?: ClientCodec
  readonly chains?: Chains
  /** Its names for typed fields. */
  readonly lossNames: LossNames
  /** The gateway's own answer where the upstream has none; `inputTokens` is an estimate. */
  estimate?(request: ParsedRequest, inputTokens: number): object
  /** The error body of this API. */
  errorBody(error: GatewayError, requestId: string): object
  /** The event that ends a stream with an error before its first event. */
  errorEvent(error: GatewayError, requestId: string): Buffer
  /** Sent when no event was sent for a while. Before the first event a comment is sent instead. */
  readonly keepAlive: Buffer
}

/** How tools are written for an upstream. */
export interface ToolRules {
  /** Of a name, in characters. */
  maxNameLength: number
  /** Tools keep their namespaces; false: a namespace becomes part of the name. */
  namespaces: boolean
  /** Tools may take free text, where features.customTools says so; false: such a tool becomes a function. */
  customTools: boolean
  /** The choice of tools may list those that are allowed; false: only these are declared. */
  allowedTools: boolean
  /** Upstreams refuse calls in the history when no tools are declared, so that the called ones are. */
  declaresCalled: boolean
  /** True for the id of a call that upstreams take. */
  isCallId(id: string): boolean
}

/** How conversations of other dialects are prepared for an upstream, before its encoder writes them. */
export interface ConversationRules {
  tools: ToolRules
  /** False: the gateway ends an answer at a stop sequence itself. */
  stopSequences: boolean
  adaptRequest?(request: ModelRequest): ModelRequest
  /** Undoes adaptRequest in the answer. */
  adaptAnswer?: PartFilter
}

/** An API that others are converted into and from. */
export interface Dialect extends ClientApi {
  readonly name: ApiName
  readonly codec: Codec
  /** Kinds of vendor state that its upstreams give to clients (see Carrier). */
  readonly carriers: readonly string[]
  /** How its vendors word their errors. */
  readonly wordings: readonly Wordings[]
  /** Absent: upstreams take a single prompt, neither a history nor tools. */
  readonly conversation?: ConversationRules
  /** Headers that its upstreams want beside the credential, names in lower case. `body`: of a request. */
  versionHeaders?(body: Record<string, unknown>): Record<string, string>
  /** A header that only its clients send, in lower case: it tells the dialect where the path does not. */
  readonly clientHeader?: string
  /** Matches the `format` by which callers of the relay mean this dialect; absent: it is meant where no other is. */
  readonly relayFormat?: RegExp
}
