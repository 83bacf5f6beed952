/** Conversion between a dialect and the neutral form. */
import type { ApiName } from '../../../contract/apis.ts'
import type { Features } from '../../../contract/features.ts'
import type { GatewayError, UpstreamFailure } from '../../errors.ts'
import type { Fields } from './json/value.ts'
import type { Losses } from './neutral/losses.ts'
import type { Emit, Envelopes, ModelAnswer, ModelRequest, StreamPart } from './neutral/types.ts'
import type { ParsedRequest } from './request.ts'

/** A task that the gateway does with an upstream's model, such as a summary of the conversation. */
export interface Emulation {
  /** The request to the model. */
  request: ModelRequest
  /** The client's answer, made from the model's. */
  answer(written: ModelAnswer, client: ClientView): ModelAnswer | UpstreamFailure
  /** Writes that answer as a stream; `encoder` is that of the client. */
  stream(encoder: StreamEncoder, client: ClientView): StreamEncoder
}

/** The upstream that a request is encoded for. */
export interface EncodeTarget {
  /** Upstream model name. */
  model: string
  features: Features
  /** Output limit if the dialect requires one and the client set none. */
  defaultMaxOutputTokens: number
  /** The gateway's limit on output tokens; sent if the client set none. */
  outputLimit?: number | undefined
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
  /** The same request as the client sent it. */
  parsed: ParsedRequest
  /** Of ClientCodec.echo. */
  echo?: Fields
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
export interface ClientCodec<Own = unknown> {
  /**
   * Throws GatewayError naming the field: invalid_request for a malformed one, unsupported_parameter for one that only
   * this dialect can express.
   */
  decodeRequest(request: ParsedRequest<Own>, envelopes: Envelopes): ModelRequest
  /** Fields of the request that answers repeat. Absent: they repeat none. */
  echo?(request: ParsedRequest<Own>): Fields
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
  /** Parses the body of a 200; undefined for text that is not JSON. Absent: JSON.parse. */
  readonly parseAnswer?: (text: string) => unknown
  /**
   * `value` is the parsed body of a 200. An error body, or one that is not an answer, is a failure. `request` is the
   * client's, in its dialect: an error names a field only if the client sent it (errors/read.ts).
   */
  decodeAnswer(value: unknown, request: ParsedRequest): ModelAnswer | UpstreamFailure
  /** `features`: of the upstream; absent: it has all of them. */
  decodeStream(emit: Emit, request: ParsedRequest, features?: StreamFeatures): StreamDecoder
}

/** Converts between a dialect and the neutral form. A codec changes none of its arguments. */
export interface Codec<Own = unknown> extends ClientCodec<Own>, UpstreamCodec {}
