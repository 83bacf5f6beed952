/** Requests that wait for a place among requests at a time, in the order in which they came to this process. */

import type { LimitRecord } from '../../contract/table/records.ts'
import type { Cancellation } from '../../kit/cancel.ts'
import type { Limit } from './limits.ts'

/** Places of other proxies become free without a word. */
const POLL_MS = 250

type Bounds = NonNullable<LimitRecord['queue']>

export class LimitQueues {
  readonly #queues = new Map<string, Place[]>()

  /** A place at the end of the queue; undefined if the limit has none, or as many wait as may. */
  join({ meter, queue }: Limit): Place | undefined {
    if (queue === undefined) return undefined
    const places = this.#queues.get(meter.id) ?? []
    if (places.length >= queue.most) return undefined
    const place = new Place(
      queue,
      () => places[0] === place,
      () => this.#leave(meter.id, place),
    )
    places.push(place)
    this.#queues.set(meter.id, places)
    return place
  }

  /** The limit whose queue a new request must join, because others wait already. */
  before(limits: readonly Limit[]): Limit | undefined {
    return limits.find(({ meter, queue }) => queue !== undefined && this.#queues.has(meter.id))
  }

  /** A request that these limits counted is over. */
  freed(limits: readonly Limit[]): void {
    for (const { meter } of limits) this.#queues.get(meter.id)?.[0]?.wake()
  }

  #leave(meter: string, place: Place): void {
    const places = this.#queues.get(meter) ?? []
    const at = places.indexOf(place)
    if (at >= 0) places.splice(at, 1)
    if (places.length === 0) this.#queues.delete(meter)
    else places[0]?.wake()
  }
}

class Place {
  readonly #until: number
  readonly #isFirst: () => boolean
  readonly leave: () => void
  #woken = Promise.withResolvers<void>()

  constructor({ waitMs }: Bounds, isFirst: () => boolean, leave: () => void) {
    this.#until = performance.now() + waitMs
    this.#isFirst = isFirst
    this.leave = leave
  }

  get isOver(): boolean {
    return performance.now() >= this.#until
  }

  wake(): void {
    this.#woken.resolve()
  }

  /** Resolves when it is worth another try, or the time is over. Rejects when `cancel` aborts. */
  async turn(cancel: Cancellation): Promise<void> {
    do {
      const left = Math.max(0, this.#until - performance.now())
      await this.#wokenWithin(this.#isFirst() ? Math.min(left, POLL_MS) : left, cancel)
    } while (!this.#isFirst() && !this.isOver)
  }

  async #wokenWithin(ms: number, cancel: Cancellation): Promise<void> {
    const onAbort = () => this.#woken.resolve()
    const timer = setTimeout(onAbort, ms)
    cancel.addEventListener('abort', onAbort)
    try {
      if (!cancel.aborted) await this.#woken.promise
    } finally {
      clearTimeout(timer)
      cancel.removeEventListener('abort', onAbort)
      this.#woken = Promise.withResolvers()
    }
    cancel.throwIfAborted()
  }
}
