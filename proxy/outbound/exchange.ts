/**
 * One call to an upstream: sends a request and delivers the answer as raw chunks. It ends in exactly one of three ways:
 * `send` rejects, the sink gets `end`, or the sink gets `fail`. Afterwards it holds no timer, listener or socket.
 */

import type { Transform } from 'node:stream'
import { type Dispatcher, errors } from 'undici'
import type { ChannelRecord } from '../../contract/table/records.ts'
import { isSpace } from '../../kit/bytes.ts'
import type { Cancellation } from '../../kit/cancel.ts'
import type { Soon } from '../../kit/soon.ts'
import { Together } from '../../kit/together.ts'
import type { UpstreamFailure } from '../errors.ts'
import { Clock } from './clock.ts'
import { decoderFor } from './decode.ts'
import { AttemptFailed, faultOf, type TransportFault, transportFailure } from './failure.ts'
import { optionsOf, type UpstreamRequest } from './request.ts'
import { WholeAnswer } from './whole-answer.ts'

/** In milliseconds: until the answer begins, between two chunks of it, and for the whole exchange. */
export type ExchangeTimeouts = Omit<ChannelRecord['timeoutsMs'], 'connect'>

/** Names in lower case; a header sent twice is a list. */
type AnswerHeaders = Record<string, string | string[] | undefined>

/** Receives an answer. Its methods must not throw. */
export interface AnswerSink {
  data(chunk: Buffer): void
  /** The whole answer was delivered. */
  end(): void
  /** The answer ends early. Chunks that arrived before an upstream's failure were delivered. */
  fail(failure: UpstreamFailure): void
}

/** An answer whose headers have arrived. The caller must attach a sink, read it all or abort it. */
export interface UpstreamResponse {
  readonly status: number
  readonly headers: AnswerHeaders
  readonly isEventStream: boolean
  /** Delivers all chunks, those that have arrived before this returns. Call it once. */
  attach(sink: AnswerSink): void
  /**
   * Call it for a chunk with content, as opposed to a keep-alive. The time-out `firstByte` runs until the first call;
   * each later call restarts the idle time-out.
   */
  noteContent(): void
  /** Stops delivery and reading from the upstream. The idle time-out stops too, the total one does not. */
  pause(): void
  resume(): void
  /** Drops the answer and its connection; the sink gets `fail` with `aborted` unless it has got its end. */
  abort(): void
  /** The whole body, at once if it has arrived. Rejects with AttemptFailed; beyond `maxBytes` (after decoding) with `answer_too_large`. */
  readAll(maxBytes: number): Soon<Buffer>
}

/**
 * Sends a request; resolves when the headers of the answer have arrived, whatever the status. Rejects with
 * AttemptFailed. `signal` aborts at any stage until the sink gets its end.
 */
export function send(
  dispatcher: Dispatcher,
  request: UpstreamRequest,
  timeouts: ExchangeTimeouts,
  signal: Cancellation,
): Promise<UpstreamResponse> {
  return new Promise((resolve, reject) => {
    const exchange = new Exchange(timeouts, signal, resolve, reject)
    if (signal.aborted) return
    try {
      dispatcher.dispatch(optionsOf(request), exchange)
    } catch (error) {
      // ProxyAgent throws on headers that it does not accept.
      exchange.onResponseError(null, error instanceof Error ? error : new Error('not sent'))
    }
  })
}

/** With more bytes than this and no sink, the upstream must wait. */
const MAX_UNATTACHED_BYTES = 65_536
const STOPPED = new Error('stopped')

/** Answers that have begun; their requests go on together. */
const BEGUN = new Together()

class Exchange implements Dispatcher.DispatchHandler, UpstreamResponse {
  status = 0
  headers: AnswerHeaders = {}
  isEventStream = false

  readonly #idleMs: number
  readonly #signal: Cancellation
  readonly #resolve: (response: UpstreamResponse) => void
  readonly #reject: (error: AttemptFailed) => void
  readonly #onAbort = () => this.#stop('aborted')
  readonly #firstByteMs: number
  /** Its silence is first the time until the answer begins, then the one between chunks. */
  readonly #clock: Clock

  #controller: Dispatcher.DispatchController | undefined
  #decoder: Transform | undefined
  #sink: AnswerSink | undefined
  /** The whole request was written. */
  #sent = false
  #answered = false
  #hasContent = false
  #paused = false
  /** The upstream must wait, so its silence does not count. */
  #held = false
  #delivering = false
  /** Chunks that arrived before a sink was attached or while it paused. */
  #kept: Buffer[] = []
  #keptBytes = 0
  /** How the upstream's side ended; the sink gets it after the kept chunks. */
  #outcome: 'end' | UpstreamFailure | undefined
  #settled = false

  constructor(
    timeouts: ExchangeTimeouts,
    signal: Cancellation,
    resolve: (response: UpstreamResponse) => void,
    reject: (error: AttemptFailed) => void,
  ) {
    this.#idleMs = timeouts.idle
    this.#firstByteMs = timeouts.firstByte
    this.#signal = signal
    this.#resolve = resolve
    this.#reject = reject
    this.#clock = new Clock(timeouts.firstByte, timeouts.total, (which) => {
      if (which === 'total') this.#stop('total_timeout')
      else this.#stop(this.#hasContent ? 'idle_timeout' : 'first_byte_timeout')
    })
    if (signal.aborted) this.#stop('aborted')
    else signal.addEventListener('abort', this.#onAbort)
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller
    // Stopped before the connection was made: nothing has been written.
    if (this.#outcome !== undefined) controller.abort(STOPPED)
  }

  /** The wait for the first byte starts at the last byte of the request: before it no upstream can answer. */
  onBodySent(): void {
    if (!this.#answered && this.#outcome === undefined) this.#clock.silence(this.#firstByteMs)
  }

  onRequestSent(): void {
    this.#sent = true
  }

  onResponseStart(_controller: Dispatcher.DispatchController, status: number, headers: AnswerHeaders): void {
    const informational = status < 200
    if (informational || this.#outcome !== undefined) return
    this.status = status
    this.headers = headers
    this.isEventStream = /^text\/event-stream\b/i.test(String(headers['content-type'] ?? ''))
    const decoder = decoderFor(String(headers['content-encoding'] ?? ''))
    if (decoder === 'unknown') {
      this.#stop('bad_encoding')
      return
    }
    if (decoder !== 'identity') this.#decodeWith(decoder)
    this.#answered = true
    BEGUN.add(() => this.#resolve(this))
  }

  onResponseData(_controller: Dispatcher.DispatchController, chunk: Buffer): void {
    if (this.#outcome !== undefined) return
    if (this.#decoder === undefined) this.#receive(chunk)
    else if (!this.#decoder.write(chunk)) this.#holdUpstream()
  }

  onResponseEnd(): void {
    this.#controller = undefined
    if (this.#decoder === undefined) this.#finish('end')
    else this.#decoder.end()
  }

  onResponseError(controller: Dispatcher.DispatchController | null, error: Error): void {
    this.#controller = undefined
    // ProxyAgent reports a 407 of the proxy like an invalid request, which never gets a controller, and reads on.
    const is407 = controller !== null && error instanceof errors.InvalidArgumentError
    this.#finish(transportFailure(is407 ? 'proxy' : faultOf(error, this.#answered)))
    if (is407) controller.abort(STOPPED)
  }

  attach(sink: AnswerSink): void {
    if (this.#sink !== undefined) throw new Error('a sink is attached already')
    this.#sink = sink
    this.#decoder?.on('data', (chunk: Buffer) => this.#receive(chunk))
    this.#deliver()
    if (!this.#paused) this.#readOn()
  }

  pause(): void {
    this.#paused = true
    this.#decoder?.pause()
    this.#holdUpstream()
  }

  resume(): void {
    this.#paused = false
    this.#deliver()
    if (!this.#paused) this.#readOn()
  }

  noteContent(): void {
    if (this.#outcome !== undefined) return
    this.#hasContent = true
    this.#clock.silence(this.#held ? Infinity : this.#idleMs)
  }

  abort(): void {
    this.#stop('aborted')
  }

  readAll(maxBytes: number): Soon<Buffer> {
    const tooLarge = () => this.#stop('answer_too_large')
    if (this.#decoder === undefined && Number(this.headers['content-length']) > maxBytes) tooLarge()
    const whole = new WholeAnswer()
    this.attach({
      data: (chunk) => {
        // White space around JSON is not content.
        if (firstByte(chunk) >= 0) this.noteContent()
        if (whole.add(chunk) > maxBytes) tooLarge()
      },
      end: () => whole.end(),
      fail: (failure) => whole.fail(new AttemptFailed(failure, true)),
    })
    return whole.bytes()
  }

  #decodeWith(decoder: Transform): void {
    const { 'content-encoding': _encoding, 'content-length': _length, ...headers } = this.headers
    this.headers = headers
    this.#decoder = decoder
    decoder
      .on('drain', () => this.#readOn())
      .on('end', () => this.#finish('end'))
      .on('error', () => this.#stop('bad_encoding'))
  }

  /** Takes a decoded chunk of the body. */
  #receive(chunk: Buffer): void {
    if (this.#settled) return
    if (this.#sink !== undefined && !this.#paused && !this.#delivering && this.#kept.length === 0) {
      this.#sink.data(chunk)
      return
    }
    this.#kept.push(chunk)
    this.#keptBytes += chunk.length
    this.#deliver()
    if (this.#sink === undefined && this.#keptBytes > MAX_UNATTACHED_BYTES) this.#holdUpstream()
  }

  /** Delivers the kept chunks and then the outcome, until the sink pauses. */
  #deliver(): void {
    const sink = this.#sink
    if (sink === undefined || this.#delivering) return
    this.#delivering = true
    try {
      while (!this.#paused) {
        const chunk = this.#kept.shift()
        if (chunk === undefined) break
        this.#keptBytes -= chunk.length
        sink.data(chunk)
      }
    } finally {
      this.#delivering = false
    }
    if (this.#paused || this.#outcome === undefined || this.#settled) return
    this.#settle()
    if (this.#outcome === 'end') sink.end()
    else sink.fail(this.#outcome)
  }

  /** The upstream's side has ended. */
  #finish(outcome: 'end' | UpstreamFailure): void {
    if (this.#outcome !== undefined) return
    this.#outcome = outcome
    this.#clock.stop()
    if (outcome !== 'end') this.#decoder?.destroy()
    if (outcome === 'end' || this.#answered) {
      this.#deliver()
    } else {
      this.#settle()
      this.#reject(new AttemptFailed(outcome, this.#sent))
    }
  }

  /** The gateway ends it: drops kept chunks, even those of a complete answer that was not delivered yet. */
  #stop(fault: TransportFault): void {
    if (this.#settled) return
    this.#kept = []
    this.#paused = false
    this.#outcome = undefined
    this.#signal.removeEventListener('abort', this.#onAbort)
    this.#finish(transportFailure(fault))
    this.#controller?.abort(STOPPED)
  }

  #settle(): void {
    this.#settled = true
    this.#signal.removeEventListener('abort', this.#onAbort)
  }

  #holdUpstream(): void {
    this.#controller?.pause()
    this.#held = true
    if (this.#hasContent) this.#clock.silence(Infinity)
  }

  #readOn(): void {
    if (this.#sink === undefined || this.#paused || this.#outcome !== undefined) return
    this.#decoder?.resume()
    if (this.#decoder?.writableNeedDrain === true) return
    if (this.#hasContent && this.#held) this.#clock.silence(this.#idleMs)
    this.#held = false
    this.#controller?.resume()
  }
}

/** Index of the first byte that is not white space around JSON; -1 when there is none. */
export function firstByte(bytes: Buffer): number {
  return bytes.findIndex((byte) => !isSpace(byte))
}
