/** When a key ends, and what is told of it beforehand. */
import type { ApiKeySpec } from '../../contract/api/index.ts'
import { instant } from './amounts.ts'
import type { Findings } from './conditions.ts'

const HOUR_MS = 3_600_000
/** People are warned this long before the end; the shortest first, as it is the one that is told. */
const WARNINGS = [
  { ms: HOUR_MS, words: 'an hour' },
  { ms: 24 * HOUR_MS, words: 'a day' },
]

/** A span of time in which nothing that is said of a key changes by time alone: from `since` to before `until`. */
export interface Span {
  since: number
  until: number
}

export interface Expiry {
  /** When the key ends; undefined: never. */
  at: number | undefined
  span: Span
}

/** Judges spec.expiresAt at `now`. */
export function expiryOf(spec: ApiKeySpec, now: number, findings: Findings): Expiry {
  const at = spec.expiresAt === undefined ? undefined : instant(spec.expiresAt)
  if (at === undefined) {
    if (spec.expiresAt !== undefined)
      findings.refusals.push({ reason: 'Invalid', message: 'spec.expiresAt is not a time that exists' })
    return { at, span: spanAround(now, []) }
  }
  const moment = new Date(at).toISOString()
  const near = WARNINGS.find(({ ms }) => at - now <= ms)
  if (at <= now)
    findings.refusals.push({
      reason: 'Expired',
      message: `the key expired at ${moment} and is refused; set spec.expiresAt to a later time, or remove it`,
    })
  else if (near !== undefined && spec.disabled !== true)
    findings.notes.push({ reason: 'Expiring', message: `the key expires at ${moment}, within ${near.words}` })
  return { at, span: spanAround(now, [at, ...WARNINGS.map(({ ms }) => at - ms)]) }
}

/** The span around `now` that these moments bound. */
export function spanAround(now: number, moments: readonly number[]): Span {
  return {
    since: Math.max(Number.NEGATIVE_INFINITY, ...moments.filter((moment) => moment <= now)),
    until: Math.min(Number.POSITIVE_INFINITY, ...moments.filter((moment) => moment > now)),
  }
}

export const isWithin = (now: number, { since, until }: Span): boolean => now >= since && now < until
