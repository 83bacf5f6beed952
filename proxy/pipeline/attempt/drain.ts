/**
 * What happens to the call to an upstream when its request is cancelled. An upstream bills what it makes, whether or not
 * the client still reads, and tells the amount only at the end. So a call may go on for a while without its client.
 */

import type { ChannelRecord } from '../../../contract/table/records.ts'
import { Cancel, type Cancellation } from '../../../kit/cancel.ts'
import { ClientGone } from '../request/client.ts'

/** Once an answer has ended, only its usage is missing. */
const AFTER_END_MS = 2_000

/** How a drained call ended: the upstream finished, the time was up, or too many others were draining. */
type DrainEnd = 'finished' | 'timed_out' | 'refused'

/** The calls that go on without a client. */
export class Drains {
  readonly #max: number
  readonly #ended: (how: DrainEnd) => void
  readonly #calls = new Set<UpstreamCall>()

  constructor(max: number, ended: (how: DrainEnd) => void) {
    this.#max = max
    this.#ended = ended
  }

  get size(): number {
    return this.#calls.size
  }

  /** False if too many calls drain already. */
  add(call: UpstreamCall): boolean {
    if (this.#calls.size >= this.#max) {
      this.#ended('refused')
      return false
    }
    this.#calls.add(call)
    return true
  }

  remove(call: UpstreamCall): void {
    if (this.#calls.delete(call)) this.#ended(call.signal.aborted ? 'timed_out' : 'finished')
  }

  /** Ends all calls that drain. */
  stop(): void {
    for (const call of this.#calls) call.abort()
  }
}

/** One call to an upstream. `close` must be called when it is over. */
export class UpstreamCall {
  readonly #cancel: Cancellation
  readonly #drains: Drains
  readonly #drainMs: number
  readonly #control = new Cancel()
  readonly #onCancel = () => this.#cancelled()
  #timer: NodeJS.Timeout | undefined
  #draining = false
  readonly startedAt = performance.now()
  #endSeen: () => boolean = () => false

  constructor(
    cancel: Cancellation,
    drains: Drains,
    { onDisconnect = 'Abort', timeoutsMs }: Pick<ChannelRecord, 'onDisconnect' | 'timeoutsMs'>,
  ) {
    this.#cancel = cancel
    this.#drains = drains
    this.#drainMs = onDisconnect === 'Drain' ? (timeoutsMs.drain ?? AFTER_END_MS) : 0
    if (cancel.aborted) this.abort()
    else cancel.addEventListener('abort', this.#onCancel)
  }

  /** Aborted when the upstream must stop. */
  get signal(): Cancellation {
    return this.#control.signal
  }

  /** The client has left, and the upstream is read on. */
  get draining(): boolean {
    return this.#draining && !this.signal.aborted
  }

  /** `seen` returns true when the answer has ended, but its usage may still come. */
  watchEnd(seen: () => boolean): void {
    this.#endSeen = seen
  }

  abort(): void {
    this.#control.abort(this.#cancel.reason)
  }

  close(): void {
    clearTimeout(this.#timer)
    this.#cancel.removeEventListener('abort', this.#onCancel)
    this.#drains.remove(this)
  }

  #cancelled(): void {
    const ms = Math.max(this.#drainMs, this.#endSeen() ? AFTER_END_MS : 0)
    this.#draining = ms > 0 && this.#cancel.reason instanceof ClientGone && this.#drains.add(this)
    if (this.#draining) this.#timer = setTimeout(() => this.abort(), ms)
    else this.abort()
  }
}
