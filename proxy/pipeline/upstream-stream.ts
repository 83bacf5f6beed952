/**
 * The upstream's side of a stream. Nothing is handed on before the first event is known to be no error; what an
 * upstream calls its answer is not trusted: a JSON body instead of a stream is recognised by its first byte.
 */
import type { StreamObserver } from '../dialects/dialect.ts'
import { EventTooLarge } from '../dialects/sse/splitter.ts'
import type { UpstreamFailure } from '../errors.ts'
import type { AnswerSink, UpstreamResponse } from '../upstream/exchange.ts'

/** What the first bytes of an answer turned out to be. */
export type Opening =
  | { kind: 'stream' }
  | { kind: 'json'; body: Buffer }
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

/** How long an upstream may take to end its answer once the last event has come; then the connection is given up. */
const CLOSING_MS = 500
const OPENING_BRACE = 0x7b
const DATA_FIELD = Buffer.from('data')

export class UpstreamStream implements AnswerSink {
  readonly observer: StreamObserver
  readonly #response: UpstreamResponse
  readonly #maxJsonBytes: number
  readonly #opening = Promise.withResolvers<Opening>()
  /** Released by the observer, not yet taken. */
  #held: Buffer[] = []
  #json: { chunks: Buffer[]; size: number } | undefined
  #begun = false
  #closing: NodeJS.Timeout | undefined
  #taker: StreamTaker | undefined
  /** How it ended, if it did before somebody took it. */
  #end: { last: Buffer | undefined } | { failure: UpstreamFailure } | undefined

  constructor(response: UpstreamResponse, observer: StreamObserver, maxJsonBytes: number) {
    this.#response = response
    this.observer = observer
    this.#maxJsonBytes = maxJsonBytes
    response.attach(this)
  }

  /** Resolves when the first event is there, or when there will be none. */
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

  resume(): void {
    this.#response.resume()
  }

  abort(): void {
    this.#response.abort()
  }

  data(chunk: Buffer): void {
    if (this.#end !== undefined) return
    if (!this.#begun && this.#begin(chunk)) return
    if (this.#json !== undefined) {
      this.#collect(this.#json, chunk)
      return
    }
    let bytes: Buffer | undefined
    try {
      bytes = this.observer.push(chunk)
    } catch (error) {
      const detail = error instanceof EventTooLarge ? 'event_too_large' : 'observer_failed'
      this.#finish({ failure: { class: 'transient', detail } })
      this.#response.abort()
      return
    }
    if (bytes !== undefined) this.#pass(bytes)
    if (this.observer.failure !== undefined) {
      this.#finish({ failure: this.observer.failure })
      this.#response.abort()
    } else if (this.observer.done) this.#closing ??= setTimeout(() => this.#close(), CLOSING_MS)
  }

  end(): void {
    clearTimeout(this.#closing)
    if (this.#end !== undefined) return
    if (this.#json !== undefined) {
      this.#opening.resolve({ kind: 'json', body: Buffer.concat(this.#json.chunks) })
      return
    }
    const last = this.observer.flush()
    if (this.observer.failure !== undefined) this.#finish({ failure: this.observer.failure })
    else if (this.observer.finished) this.#finish({ last })
    else this.#finish({ failure: { class: 'transient', detail: 'cut_stream' } })
  }

  fail(failure: UpstreamFailure): void {
    clearTimeout(this.#closing)
    if (this.#end !== undefined) return
    // A connection that breaks after the answer was complete has harmed nobody.
    if (this.#json === undefined && this.observer.finished) this.end()
    else this.#finish({ failure })
  }

  /** The answer is complete, and its upstream leaves the connection open. */
  #close(): void {
    this.end()
    this.#response.abort()
  }

  /** True when the chunk is blank so far: what it is cannot be told yet. */
  #begin(chunk: Buffer): boolean {
    const first = chunk.find((byte) => byte !== 0x20 && byte !== 0x09 && byte !== 0x0a && byte !== 0x0d)
    if (first === undefined) return true
    this.#begun = true
    if (first === OPENING_BRACE) this.#json = { chunks: [], size: 0 }
    return false
  }

  #collect(json: { chunks: Buffer[]; size: number }, chunk: Buffer): void {
    json.size += chunk.length
    if (json.size <= this.#maxJsonBytes) {
      json.chunks.push(chunk)
      return
    }
    this.#finish({ failure: { class: 'transient', detail: 'answer_too_large' } })
    this.#response.abort()
  }

  #pass(bytes: Buffer): void {
    if (this.#taker !== undefined) {
      if (!this.#taker.take(bytes)) this.#response.pause()
      return
    }
    // Comments alone (some upstreams send them while they queue) are no event: they commit to nothing and are dropped.
    if (this.#held.length === 0 && !bytes.includes(DATA_FIELD)) return
    this.#held.push(bytes)
    this.#response.pause()
    this.#opening.resolve({ kind: 'stream' })
  }

  #finish(end: { last: Buffer | undefined } | { failure: UpstreamFailure }): void {
    if (this.#end !== undefined) return
    this.#end = end
    if ('failure' in end) this.#opening.resolve({ kind: 'failed', failure: end.failure })
    else this.#opening.resolve({ kind: 'stream' })
    if (this.#taker !== undefined) this.#tell(end)
  }

  #tell(end: { last: Buffer | undefined } | { failure: UpstreamFailure }): void {
    if ('failure' in end) this.#taker?.broke(end.failure)
    else this.#taker?.finished(end.last)
  }
}
