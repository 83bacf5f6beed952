/** Schedules the calls of one socket: one at a time per stream, a bounded number of streams in parallel. */
import type { StreamName } from './frames.ts'
import type { SocketLimits } from './limits.ts'

export type StreamLimits = Pick<SocketLimits, 'maxRunning' | 'maxWaiting' | 'maxNames' | 'maxMessageBytes'>

interface Sized {
  stream: StreamName
  bytes: number
}

export class Streams<J extends Sized> {
  readonly #limits: StreamLimits
  readonly #run: (job: J) => Promise<void>
  readonly #names = new Set<string>()
  /** Waiting calls, by stream; a stream without any is not in it. */
  readonly #waiting = new Map<StreamName, J[]>()
  /** Streams that only wait for a free slot, the longest first. */
  readonly #ready = new Set<StreamName>()
  readonly #busy = new Set<StreamName>()
  #waits = 0
  #waitingBytes = 0
  #bytes = 0

  /** `run` serves one call and never rejects. */
  constructor(limits: StreamLimits, run: (job: J) => Promise<void>) {
    this.#limits = limits
    this.#run = run
  }

  /** True: take no more calls until some have ended. */
  get full(): boolean {
    return this.#waits >= this.#limits.maxWaiting || this.#bytes > this.#limits.maxMessageBytes
  }

  get waitingBytes(): number {
    return this.#waitingBytes
  }

  /** Nothing runs or waits. */
  get quiet(): boolean {
    return this.#busy.size === 0 && this.#waits === 0
  }

  /** False: the socket already has all the streams that it may have. */
  admits(stream: StreamName): boolean {
    return stream === undefined || this.#names.has(stream) || this.#names.size < this.#limits.maxNames
  }

  /** Runs the call when it is its turn. */
  add(job: J): void {
    const { stream } = job
    if (stream !== undefined) this.#names.add(stream)
    const waiting = this.#waiting.get(stream)
    if (waiting === undefined) this.#waiting.set(stream, [job])
    else waiting.push(job)
    this.#waits++
    this.#waitingBytes += job.bytes
    this.#bytes += job.bytes
    if (!this.#busy.has(stream)) this.#ready.add(stream)
    this.#start()
  }

  /** Drops the waiting calls. */
  drop(): void {
    for (const jobs of this.#waiting.values()) for (const { bytes } of jobs) this.#bytes -= bytes
    this.#waiting.clear()
    this.#ready.clear()
    this.#waits = 0
    this.#waitingBytes = 0
  }

  #start(): void {
    for (const stream of this.#ready) {
      if (this.#busy.size >= this.#limits.maxRunning) return
      this.#ready.delete(stream)
      const job = this.#next(stream)
      if (job === undefined) continue
      this.#busy.add(stream)
      void this.#run(job).then(() => this.#ended(job))
    }
  }

  #next(stream: StreamName): J | undefined {
    const jobs = this.#waiting.get(stream)
    const job = jobs?.shift()
    if (jobs?.length === 0) this.#waiting.delete(stream)
    if (job !== undefined) {
      this.#waits--
      this.#waitingBytes -= job.bytes
    }
    return job
  }

  #ended({ stream, bytes }: J): void {
    this.#bytes -= bytes
    this.#busy.delete(stream)
    if (this.#waiting.has(stream)) this.#ready.add(stream)
    this.#start()
  }
}
