/** The channels that fail on this proxy now, and since when. Heartbeats carry them. */
import { type ChannelTrouble, MAX_TROUBLES } from '../../store/contract.ts'
import type { ChannelState } from './health.ts'

/**
 * A reader to be called for every heartbeat, so that the start of a trouble is exact to a second. Ejected channels come
 * first. `now` gives milliseconds since the epoch.
 */
export function troublesOf(snapshot: () => ChannelState[], now: () => number): () => ChannelTrouble[] {
  /** Since when, by channel. */
  let since = new Map<string, number>()
  return () => {
    const before = since
    const at = now()
    const failing = snapshot().filter(
      ({ consecutiveFailures, ejected }) => consecutiveFailures > 0 || ejected,
    )
    since = new Map(failing.map(({ channel }) => [channel, before.get(channel) ?? at]))
    return failing
      .sort((a, b) => Number(b.ejected) - Number(a.ejected))
      .slice(0, MAX_TROUBLES)
      .map(({ channel, ejected, lastFailure }) => ({
        channel,
        lastFailure: lastFailure ?? 'unknown',
        since: before.get(channel) ?? at,
        ejected,
      }))
  }
}
