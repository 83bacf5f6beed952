/** Counts the requests of keys without an account while the store is away: each process by itself, with the same limits. */
import type { Meter } from '../../store/ledger/contract.ts'
import {
  addRunning,
  findFull,
  forgetEmpty,
  type Meters,
  roomIn,
  runningIds,
  take,
} from '../../store/ledger/meters.ts'

/** More are not kept; the oldest go first. */
const MAX_METERS = 10_000

export type Taken =
  | { room: number[]; release: () => void }
  | { meter: number; waitMs: number; room: number[] }

export class LocalMeters {
  readonly #meters: Meters = { fills: new Map(), running: new Map() }

  take(meters: readonly Meter[]): Taken {
    const now = Date.now()
    const full = findFull(this.#meters, meters, now)
    if (full !== undefined) return { ...full, room: roomIn(this.#meters, meters, now) }
    take(this.#meters, meters, now)
    const running = runningIds(meters)
    addRunning(this.#meters, running, 1)
    this.#bound(now)
    return {
      room: roomIn(this.#meters, meters, now),
      release: () => addRunning(this.#meters, running, -1),
    }
  }

  #bound(now: number): void {
    const { fills } = this.#meters
    if (fills.size <= MAX_METERS) return
    forgetEmpty(this.#meters, now)
    for (const id of fills.keys()) {
      if (fills.size <= MAX_METERS) return
      fills.delete(id)
    }
  }
}
