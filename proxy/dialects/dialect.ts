/**
 * What the pipeline asks of a dialect. One folder implements it for each; nothing outside `dialects/` knows a
 * dialect's fields. Between equal dialects bytes pass (ByteLane), between different ones everything goes through the
 * neutral form of ir/types.ts (Codec), in the hub.
 */
import type { IncomingHttpHeaders } from 'node:http'
import type { DialectName } from '../../contract/endpoints.ts'
import type { Features } from '../../contract/profiles.ts'
import type { Delivered, InputSize } from '../../contract/sizes.ts'
import type { Usage } from '../../contract/usage.ts'
import type { GatewayError, UpstreamFailure } from '../errors.ts'
import type { Losses } from './ir/losses.ts'
import type { Envelopes, ModelAnswer, ModelRequest, StreamPart } from './ir/types.ts'

/** What the gateway itself reads of a request: enough to route it and to hold money for it. */
export interface RequestHead {
  model: string
  stream: boolean
  /** The caller's own limit on output tokens, if any. */
  maxOutputTokens?: number
  /** Answers asked for (`n`); each may use the whole output limit. */
  choices: number
  /** Service tier asked for, such as `priority`; `fast` also for messages' `speed: fast`. */
  tier?: string
  /** True when the client itself asked for usage in the stream (chat). */
  wantsStreamUsage: boolean
  input: InputSize
}

/** Bounds on a JSON body, checked before it is parsed. */
export interface JsonLimits {
  maxDepth: number
  /** Object keys in the whole body. */
  maxKeys: number
}

/** A request body that passed the checks of its dialect. */
export interface ParsedRequest {
  head: RequestHead
  /** The bytes as they came; never changed. */
  body: Buffer
  /** Client headers that mean something in the dialect (`anthropic-version`), names in lower case. */
  headers: Record<string, string>
}

/** Changes spliced into the request's bytes; everything else reaches the upstream as the client wrote it. */
export interface RequestEdits {
  /** Upstream model name. */
  model: string
  /** Ask the upstream to report usage in the stream (chat). */
  askStreamUsage: boolean
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

/** Follows the bytes of one upstream stream and makes those that the client gets. */
export interface StreamObserver {
  /** Takes a chunk and returns what may go to the client now: whole events only. Throws EventTooLarge past a limit. */
  push(chunk: Buffer): Buffer | undefined
  /** Set as soon as the stream carried an error event; that event and what follows it are not returned by push. */
  readonly failure: UpstreamFailure | undefined
  /** True when the stream has ended as its dialect says a finished answer ends. */
  readonly finished: boolean
  /** True once the event that ends a stream was seen: nothing more is read, the upstream may be left. */
  readonly done: boolean
  readonly usage: Usage | undefined
  readonly tier: string | undefined
  readonly delivered: Delivered
  /** At the upstream's end of stream: what is still to be sent (a final event without its blank line), if anything. */
  flush(): Buffer | undefined
  /** The event that ends this stream with an error, fitting what was sent before. */
  errorEvent(error: GatewayError, requestId: string): Buffer
}

/** The way of a request whose upstream speaks the client's dialect. */
export interface ByteLane {
  /** The request's bytes with the edits spliced in. */
  splice(request: ParsedRequest, edits: RequestEdits): Buffer
  /** Headers that the upstream gets beside those of the channel, names in lower case. */
  upstreamHeaders(request: ParsedRequest): Record<string, string>
  /**
   * Reads a whole answer with status 200. An error body under 200, or something that is no answer, is a failure.
   * With `asStream` the answer is turned into the dialect's stream: some upstreams ignore `stream: true`.
   */
  readAnswer(body: Buffer, request: ParsedRequest, asStream: boolean): Answer | UpstreamFailure
  /**
   * Observer for a stream: bytes pass as they are. An error of the observer never touches them. `askedUsage` (chat)
   * says that the gateway asked for the usage event, which then is withheld from a client who did not.
   */
  observe(request: ParsedRequest, maxEventBytes: number, askedUsage: boolean): StreamObserver
}

/** Where a request is going, for encoding it. */
export interface EncodeTarget {
  /** Upstream model name. */
  model: string
  features: Features
  /** Output limit where the dialect requires one and the client gave none. */
  defaultMaxOutputTokens: number
  /** Gets what the encoder drops of the typed fields. */
  losses: Losses
}

/** A request as the upstream's dialect writes it. */
export interface EncodedRequest {
  body: Record<string, unknown>
  /** Names in lower case. */
  headers?: Record<string, string>
}

/** Whom an answer is for. */
export interface ClientView {
  request: ModelRequest
  /** The same request as it came: the responses dialect repeats its fields in the answer. */
  parsed: ParsedRequest
  /** Random letters and digits, from which all ids of the answer are made: `chatcmpl-<x>`, `resp_<x>`, `msg_<x>`. */
  id: string
  /** Seconds since the epoch. */
  created: number
  /** Estimate of prompt tokens, for events that must name them before the upstream has. */
  inputTokens: number
  envelopes: Envelopes
  /** Gets what the encoder drops of the answer. */
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
  /** Nothing of meaning can follow. */
  readonly done: boolean
  /**
   * True: the decoder keeps nothing of the text that runs now, so that it need not see each delta (hub/repeats.ts).
   * Asked after each event.
   */
  readonly forgetsText?: boolean
}

/** Writes the events of one client stream. */
export interface StreamEncoder {
  part(part: StreamPart): void
  /** The text of all events since the last call; '' when there is none. */
  take(): string
  /** The event that ends the stream with an error, fitting what was written before. */
  error(error: GatewayError, requestId: string): string
}

/** Both directions between a dialect and the neutral form. Nothing given to a codec is changed by it. */
export interface Codec {
  /**
   * Throws GatewayError naming the field: invalid_request for a malformed one, unsupported_parameter for what cannot
   * leave this dialect.
   */
  decodeRequest(request: ParsedRequest, envelopes: Envelopes): ModelRequest
  /**
   * Throws GatewayError for what of a request only an upstream of this dialect could serve: its stored state, its
   * containers. Asked before a request is encoded into another dialect.
   */
  refuseStateful?(request: ModelRequest): void
  /** Throws GatewayError unsupported_parameter for what this dialect cannot say and nobody may drop. */
  encodeRequest(request: ModelRequest, target: EncodeTarget): EncodedRequest
  /**
   * `value` is the parsed body of a 200. An error body, or something that is no answer, is a failure. `request` is the
   * client's, in its dialect: an error names a field only if the client sent it (errors/read.ts).
   */
  decodeAnswer(value: unknown, request: ParsedRequest): ModelAnswer | UpstreamFailure
  encodeAnswer(answer: ModelAnswer, client: ClientView): object
  decodeStream(emit: (part: StreamPart) => void, request: ParsedRequest): StreamDecoder
  encodeStream(client: ClientView): StreamEncoder
}

export interface Dialect {
  readonly name: DialectName
  /** Path that is appended to a channel's base URL. */
  readonly upstreamPath: string
  /**
   * Checks what the interface requires and reads the head. Throws GatewayError (invalid_request,
   * unsupported_parameter) naming the field.
   */
  parseRequest(body: Buffer, limits: JsonLimits, headers: IncomingHttpHeaders): ParsedRequest
  readonly byteLane: ByteLane
  readonly codec: Codec
  /** The error body of this dialect. */
  errorBody(error: GatewayError, requestId: string): object
  /** The event that ends a stream with an error before its first event. */
  errorEvent(error: GatewayError, requestId: string): Buffer
  /** Sent in silence between events. Before the first one a comment is sent. */
  readonly keepAlive: Buffer
}
