/**
 * What the pipeline asks of a client dialect. One folder implements it for each; nothing outside `dialects/` knows
 * a dialect's fields.
 */
import type { Usage } from '../../contract/usage.ts'
import type { GatewayError, UpstreamFailure } from '../errors.ts'

/** What the gateway itself reads of a request: enough to route it and to hold money for it. */
export interface RequestHead {
  model: string
  stream: boolean
  /** The caller's own limit on output tokens, if any. */
  maxOutputTokens?: number
  /** Answers asked for (`n`); each may use the whole output limit. */
  choices: number
  /** Service tier asked for, such as `priority`. */
  tier?: string
  /** True when the client itself asked for usage in the stream. */
  wantsStreamUsage: boolean
  input: InputSize
}

/** What a prompt weighs, for an upper bound of its tokens. */
export interface InputSize {
  /** UTF-8 bytes of all text: contents, tool definitions, schemas. */
  textBytes: number
  images: number
  /** Decoded bytes of audio parts. */
  audioBytes: number
  /** Decoded bytes of inline files. */
  fileBytes: number
  tools: number
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
}

/** Changes spliced into the request's bytes; everything else reaches the upstream as the client wrote it. */
export interface RequestEdits {
  /** Upstream model name. */
  model: string
  /** Ask the upstream to report usage in the stream. */
  askStreamUsage: boolean
}

/** A complete answer of the upstream. */
export interface Answer {
  /** The bytes to send. */
  body: Buffer
  usage?: Usage
  /** Tier that served the request, if the upstream says so. */
  tier?: string
  /** Model output, for an estimate when usage is missing. */
  delivered: Delivered
}

/** Model output that went to the client: what an estimate of output tokens starts from. */
export interface Delivered {
  /** Deltas (text, reasoning, tool arguments). */
  deltas: number
  /** Their UTF-8 bytes, roughly. */
  bytes: number
}

/** Follows the bytes of one upstream stream. Errors of the observer never touch the bytes. */
export interface StreamObserver {
  /** Takes a chunk and returns what may go to the client now: whole events only. Throws EventTooLarge past a limit. */
  push(chunk: Buffer): Buffer | undefined
  /** Set as soon as the stream carried an error event; that event and what follows it are not returned by push. */
  readonly failure: UpstreamFailure | undefined
  /** True when the stream has ended as its dialect says a finished answer ends. */
  readonly finished: boolean
  /** True once the event that ends a stream (`[DONE]`) was seen: nothing more is read, the upstream may be left. */
  readonly done: boolean
  readonly usage: Usage | undefined
  readonly tier: string | undefined
  readonly delivered: Delivered
  /** At the upstream's end of stream: what is still to be sent (a final event without its blank line), if anything. */
  flush(): Buffer | undefined
}

export interface Dialect {
  readonly name: 'chat'
  /** Path that is appended to a channel's base URL. */
  readonly upstreamPath: string

  /** Checks and reads a request body. Throws GatewayError (invalid_request, unsupported_parameter) naming the field. */
  parseRequest(body: Buffer, limits: JsonLimits): ParsedRequest

  /** The request's bytes with the edits spliced in. */
  splice(request: ParsedRequest, edits: RequestEdits): Buffer

  /**
   * Reads a whole answer with status 200. An error body under 200, or something that is no answer, is a failure.
   * With `asStream` the answer is turned into the dialect's stream: some upstreams ignore `stream: true`.
   */
  readAnswer(body: Buffer, request: ParsedRequest, asStream: boolean): Answer | UpstreamFailure

  /**
   * Observer for a stream; usage events that only the gateway asked for are withheld. `askedUsage` (true unless told)
   * says whether it asked: a usage event that nobody asked for passes.
   */
  observe(request: ParsedRequest, maxEventBytes: number, askedUsage?: boolean): StreamObserver

  /** Reads an error status with its body (which may be anything) into a class and a sanitised message. */
  readError(
    status: number,
    headers: Record<string, string | string[] | undefined>,
    body: Buffer,
    request: ParsedRequest,
  ): UpstreamFailure

  /** The error body of this dialect. */
  errorBody(error: GatewayError, requestId: string): object

  /** The event that ends a stream with an error. */
  errorEvent(error: GatewayError, requestId: string): Buffer

  /** Sent in silence, before the first event and between events. */
  readonly keepAlive: Buffer
}
