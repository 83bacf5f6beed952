/** Which channels fail at this proxy now, and since when: what its heartbeats tell. */
import { type ChannelTrouble, MAX_TROUBLES } from '../../store/contract.ts'
import type { ChannelState } from './health.ts'

export class Troubles {
  readonly #snapshot: () => ChannelState[]
  readonly #now: () => number
  /** By channel, in milliseconds since the epoch. */
  #since = new Map<string, number>()

  /** `now` gives milliseconds since the epoch. */
  constructor(snapshot: () => ChannelState[], now: () => number) {
    this.#snapshot = snapshot
    this.#now = now
  }

  /** Asked at every heartbeat, so that the beginning of a trouble is known to a second. Those that rest come first. */
  read(): ChannelTrouble[] {
    const now = this.#now()
    const before = this.#since
    const failing = this.#snapshot().filter(
      ({ consecutiveFailures, resting }) => consecutiveFailures > 0 || resting,
    )
    this.#since = new Map(failing.map(({ channel }) => [channel, before.get(channel) ?? now]))
    return failing
      .sort((a, b) => Number(b.resting) - Number(a.resting))
      .slice(0, MAX_TROUBLES)
      .map(({ channel, resting, lastFailure }) => ({
        channel,
        lastFailure: lastFailure ?? 'unknown',
        since: before.get(channel) ?? now,
        ejected: resting,
      }))
  }
}
