/**
 * The upstream's side of a stream. It passes nothing on before an event has begun the answer. It does not trust the
 * content type: a JSON body or an HTML page instead of a stream is recognised by its first line.
 */
import type { StreamObserver } from '../../dialects/core/byte-lane.ts'
import { EventTooLarge } from '../../dialects/core/sse/splitter.ts'
import type { GatewayError, UpstreamFailure } from '../../errors.ts'
import { type AnswerSink, firstByte, type UpstreamResponse } from '../../outbound/exchange.ts'
import type { Mask } from './mask.ts'

/** How an answer begins. */
type Opening =
  | { kind: 'stream' }
  | { kind: 'whole'; body: Buffer }
  | { kind: 'failed'; failure: UpstreamFailure }

interface StreamTaker {
  /** False: pause until resume is called. */
  take(bytes: Buffer): boolean
  /** The answer is complete; `last` is still to be sent. */
  finished(last: Buffer | undefined): void
  /** The stream broke, or carried an error event. */
  broke(failure: UpstreamFailure): void
}

/** How a stream ended: finished, with what is still to be sent, or broken. */
type Ending = { last: Buffer | undefined } | { failure: UpstreamFailure }

/** How long the connection may stay open after the last event; then it is closed. */
const CLOSING_MS = 500
/** The first bytes of a stream, as far as they have arrived: the name of a field, or a comment. */
const STREAM_BEGIN = /^(?:\u00ef(?:\u00bb\u00bf?)?)?[\w-]*(?:$|[:\r\n])/
const BEGIN_BYTES = 64
/**
 * More chunks than this are not joined: V8 maps fresh pages for each string above 128 kB, and filling them costs an
 * eighth of a stream at full speed.
 */
const MAX_TICK_BYTES = 32_768
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
  #tickBytes = 0
  /** An answer that is not a stream. */
  #whole: { chunks: Buffer[]; size: number } | undefined
  /** The first byte that is not blank has arrived. */
  #known = false
  #closing: NodeJS.Timeout | undefined
  #taker: StreamTaker | undefined
  /** How it ended; it may end before it has a taker. */
  #end: Ending | undefined

  /** `mask` removes secrets. */
  constructor(response: UpstreamResponse, observer: StreamObserver, maxWholeBytes: number, mask: Mask) {
    this.#response = response
    this.observer = observer
    this.#mask = mask
    this.#maxWholeBytes = maxWholeBytes
    response.attach(this)
  }

  /** Resolves when the answer has begun or failed. */
  opening(): Promise<Opening> {
    return this.#opening.promise
  }

  /** Passes everything to `taker`, the held bytes first. */
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
    if (this.observer.begun) this.#response.noteContent()
    // One packet often holds many events, each in its own chunk. Joined they cost one conversion and one write.
    this.#tickBytes += chunk.length
    if (this.#tick.push(chunk) === 1) process.nextTick(this.#readTick)
    if (this.#tickBytes >= MAX_TICK_BYTES) this.#readTick()
  }

  readonly #readTick = (): void => {
    const [first] = this.#tick
    if (first === undefined || this.#end !== undefined) return
    const joined = this.#tick.length === 1 ? first : Buffer.concat(this.#tick, this.#tickBytes)
    this.#tick = []
    this.#tickBytes = 0
    const { begun } = this.observer
    let bytes: Buffer | undefined
    try {
      bytes = this.observer.push(joined)
    } catch (error) {
      this.#finish({ failure: observerFailure(error) })
      this.#response.abort()
      return
    }
    if (!begun && this.observer.begun) this.#response.noteContent()
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
    // A connection that breaks after a complete answer does no harm.
    if (this.#whole === undefined && this.observer.finished) this.end()
    else this.#finish({ failure })
  }

  /** The answer is complete, but its upstream leaves the connection open. */
  #close(): void {
    this.end()
    this.#response.abort()
  }

  /** False while the answer is blank: its kind is not known yet. */
  #know(chunk: Buffer): boolean {
    const at = firstByte(chunk)
    if (at < 0) return false
    this.#known = true
    if (!STREAM_BEGIN.test(chunk.toString('latin1', at, at + BEGIN_BYTES)))
      this.#whole = { chunks: [], size: 0 }
    return true
  }

  #collect(whole: { chunks: Buffer[]; size: number }, chunk: Buffer): void {
    if (firstByte(chunk) >= 0) this.#response.noteContent()
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
      // Comments alone are dropped: some upstreams send them while a request is queued.
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
