/** The channels that fail on this proxy now, and since when. Heartbeats carry them. */
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

  /** Called for every heartbeat, so that the start of a trouble is exact to a second. Ejected channels come first. */
  read(): ChannelTrouble[] {
    const now = this.#now()
    const before = this.#since
    const failing = this.#snapshot().filter(
      ({ consecutiveFailures, ejected }) => consecutiveFailures > 0 || ejected,
    )
    this.#since = new Map(failing.map(({ channel }) => [channel, before.get(channel) ?? now]))
    return failing
      .sort((a, b) => Number(b.ejected) - Number(a.ejected))
      .slice(0, MAX_TROUBLES)
      .map(({ channel, ejected, lastFailure }) => ({
        channel,
        lastFailure: lastFailure ?? 'unknown',
        since: before.get(channel) ?? now,
        ejected,
      }))
  }
}
