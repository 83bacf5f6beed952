/**
 * The upstream's side of a stream. Nothing is handed on before an event has begun the answer; what an upstream calls its
 * answer is not trusted: a JSON body instead of a stream, or a page for people, is recognised by its first line.
 */
import type { StreamObserver } from '../../dialects/core/dialect.ts'
import { EventTooLarge } from '../../dialects/core/sse/splitter.ts'
import type { GatewayError, UpstreamFailure } from '../../errors.ts'
import { type AnswerSink, firstByte, type UpstreamResponse } from '../../outbound/exchange.ts'
import type { Mask } from './mask.ts'

/** What the first bytes of an answer turned out to be. */
export type Opening =
  | { kind: 'stream' }
  | { kind: 'whole'; body: Buffer }
  | { kind: 'failed'; failure: UpstreamFailure }

/** Who takes the bytes of a stream. */
export interface StreamTaker {
  /** False: pause until resume is called. */
  take(bytes: Buffer): boolean
  /** The stream has ended as a finished answer ends; `last` is still to be sent. */
  finished(last: Buffer | undefined): void
  /** The stream broke, or carried an error event. */
  broke(failure: UpstreamFailure): void
}

/** How a stream ended: finished, with what is still to be sent, or broken. */
type Ending = { last: Buffer | undefined } | { failure: UpstreamFailure }

/** How long an upstream may take to end its answer once the last event has come; then the connection is given up. */
const CLOSING_MS = 500
/** How a stream begins, in its first bytes as far as they are there: the name of a field, or a comment. */
const STREAM_BEGIN = /^(?:\u00ef(?:\u00bb\u00bf?)?)?[\w-]*(?:$|[:\r\n])/
const BEGIN_BYTES = 64
const DATA_LINE = /(?:^|[\r\n]|\u00ef\u00bb\u00bf)data(?:[:\r\n]|$)/

export class UpstreamStream implements AnswerSink {
  readonly observer: StreamObserver
  readonly #response: UpstreamResponse
  readonly #maxWholeBytes: number
  readonly #mask: Mask
  readonly #opening = Promise.withResolvers<Opening>()
  /** Released by the observer, not yet taken. */
  #held: Buffer[] = []
  #heldBytes = 0
  /** Chunks of this tick, not yet read. */
  #tick: Buffer[] = []
  /** An answer that is no stream. */
  #whole: { chunks: Buffer[]; size: number } | undefined
  /** The first byte that is not blank has come. */
  #known = false
  #closing: NodeJS.Timeout | undefined
  #taker: StreamTaker | undefined
  /** How it ended, if it did before somebody took it. */
  #end: Ending | undefined

  /** `mask` takes out what the client must not see. */
  constructor(response: UpstreamResponse, observer: StreamObserver, maxWholeBytes: number, mask: Mask) {
    this.#response = response
    this.observer = observer
    this.#mask = mask
    this.#maxWholeBytes = maxWholeBytes
    response.attach(this)
  }

  /** Resolves when the answer has begun, or when there will be none. */
  opening(): Promise<Opening> {
    return this.#opening.promise
  }

  /** Hands everything to `taker`, what was held first. */
  deliverTo(taker: StreamTaker): void {
    this.#taker = taker
    const held = this.#held
    this.#held = []
    let flowing = true
    for (const bytes of held) flowing = taker.take(bytes) && flowing
    if (this.#end !== undefined) this.#tell(this.#end)
    else if (flowing) this.#response.resume()
  }

  /** The event that ends this stream with an error; it may repeat what the upstream wrote before. */
  errorEvent(error: GatewayError, requestId: string): Buffer {
    return this.#mask(this.observer.errorEvent(error, requestId))
  }

  resume(): void {
    this.#response.resume()
  }

  abort(): void {
    this.#response.abort()
  }

  data(chunk: Buffer): void {
    if (this.#end !== undefined) return
    if (!this.#known && !this.#know(chunk)) return
    if (this.#whole !== undefined) {
      this.#collect(this.#whole, chunk)
      return
    }
    if (this.observer.begun) this.#response.heard()
    // Many events come in one packet, each in a chunk of its own: together they cost one conversion and one write.
    if (this.#tick.push(chunk) === 1) process.nextTick(() => this.#readTick())
  }

  #readTick(): void {
    const [first, ...more] = this.#tick
    if (first === undefined || this.#end !== undefined) return
    this.#tick = []
    const { begun } = this.observer
    let bytes: Buffer | undefined
    try {
      bytes = this.observer.push(more.length === 0 ? first : Buffer.concat([first, ...more]))
    } catch (error) {
      this.#finish({ failure: observerFailure(error) })
      this.#response.abort()
      return
    }
    if (!begun && this.observer.begun) this.#response.heard()
    if (bytes !== undefined) this.#pass(this.#mask(bytes))
    if (this.#end !== undefined) return
    if (this.observer.failure !== undefined) {
      this.#finish({ failure: this.observer.failure })
      this.#response.abort()
    } else if (this.observer.done) this.#closing ??= setTimeout(() => this.#close(), CLOSING_MS)
  }

  end(): void {
    this.#readTick()
    clearTimeout(this.#closing)
    if (this.#end !== undefined) return
    if (this.#whole !== undefined) {
      this.#opening.resolve({ kind: 'whole', body: Buffer.concat(this.#whole.chunks) })
      return
    }
    this.#finish(this.#readRest())
  }

  #readRest(): Ending {
    try {
      const last = this.observer.flush()
      if (this.observer.failure !== undefined) return { failure: this.observer.failure }
      if (this.observer.finished) return { last: last && this.#mask(last) }
      return { failure: { class: 'transient', detail: 'cut_stream' } }
    } catch (error) {
      return { failure: observerFailure(error) }
    }
  }

  fail(failure: UpstreamFailure): void {
    this.#readTick()
    clearTimeout(this.#closing)
    if (this.#end !== undefined) return
    // A connection that breaks after the answer was complete has harmed nobody.
    if (this.#whole === undefined && this.observer.finished) this.end()
    else this.#finish({ failure })
  }

  /** The answer is complete, and its upstream leaves the connection open. */
  #close(): void {
    this.end()
    this.#response.abort()
  }

  /** False while the answer is blank: what it is cannot be told yet. */
  #know(chunk: Buffer): boolean {
    const at = firstByte(chunk)
    if (at < 0) return false
    this.#known = true
    if (!STREAM_BEGIN.test(chunk.toString('latin1', at, at + BEGIN_BYTES)))
      this.#whole = { chunks: [], size: 0 }
    return true
  }

  #collect(whole: { chunks: Buffer[]; size: number }, chunk: Buffer): void {
    if (firstByte(chunk) >= 0) this.#response.heard()
    whole.size += chunk.length
    if (whole.size <= this.#maxWholeBytes) {
      whole.chunks.push(chunk)
      return
    }
    this.#tooLarge()
  }

  #tooLarge(): void {
    this.#finish({ failure: { class: 'transient', detail: 'answer_too_large' } })
    this.#response.abort()
  }

  #pass(bytes: Buffer): void {
    if (this.#taker !== undefined) {
      if (!this.#taker.take(bytes)) this.#response.pause()
      return
    }
    if (!this.observer.begun) {
      // Comments alone (some upstreams send them while they queue) are no event and are dropped.
      if (!DATA_LINE.test(bytes.toString('latin1'))) return
      this.#held.push(bytes)
      this.#heldBytes += bytes.length
      if (this.#heldBytes > this.#maxWholeBytes) this.#tooLarge()
      return
    }
    this.#held.push(bytes)
    this.#response.pause()
    this.#opening.resolve({ kind: 'stream' })
  }

  #finish(end: Ending): void {
    if (this.#end !== undefined) return
    this.#end = end
    if ('failure' in end) this.#opening.resolve({ kind: 'failed', failure: end.failure })
    else this.#opening.resolve({ kind: 'stream' })
    if (this.#taker !== undefined) this.#tell(end)
  }

  #tell(end: Ending): void {
    if ('failure' in end) this.#taker?.broke(end.failure)
    else this.#taker?.finished(end.last)
  }
}

function observerFailure(error: unknown): UpstreamFailure {
  return {
    class: 'transient',
    detail: error instanceof EventTooLarge ? 'event_too_large' : 'observer_failed',
  }
}
