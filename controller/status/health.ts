/** Channels that fail, as reported by the live proxies together. */
import type { FailureClass } from '../../contract/failures.ts'
import type { Heartbeat } from '../../store/contract.ts'
import type { Judgement, ObjectStatus } from '../snapshot.ts'
import { verdictOn } from './verdict.ts'

export interface Illness {
  lastFailure: FailureClass
  /** RFC 3339. */
  since: string
  ejectedBy: number
  /** Number of live proxies. */
  proxies: number
}

/** Failing channels by "namespace/name". */
export function illnesses(live: readonly Heartbeat[]): Map<string, Illness> {
  const found = new Map<string, Illness>()
  for (const { troubles = [] } of live)
    for (const { channel, lastFailure, since, ejected } of troubles) {
      const moment = new Date(since).toISOString()
      const before = found.get(channel)
      found.set(channel, {
        lastFailure: before?.lastFailure ?? lastFailure,
        since: before !== undefined && before.since < moment ? before.since : moment,
        ejectedBy: (before?.ejectedBy ?? 0) + Number(ejected),
        proxies: live.length,
      })
    }
  return found
}

export function healthy(channel: ObjectStatus, illness: Illness | undefined): Judgement {
  const verdict = verdictOn('Healthy', channel)
  if (illness === undefined) return verdict('True', 'Healthy', 'no live proxy reports failures')
  const { lastFailure, since, ejectedBy, proxies } = illness
  return verdict(
    'False',
    ejectedBy > 0 ? 'Ejected' : 'Failing',
    `attempts have failed since ${since}, last with ${lastFailure}; ejected on ${ejectedBy} of ${proxies} proxies`,
  )
}
