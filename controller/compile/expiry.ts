/** The expiry of keys, and the warnings before it. */
import type { ApiKeySpec } from '../../contract/api/index.ts'
import type { Findings } from './conditions.ts'

const HOUR_MS = 3_600_000
/** How long before it expires a key gets a warning; shortest first, the first that applies is shown. */
const WARNINGS = [
  { ms: HOUR_MS, words: 'an hour' },
  { ms: 24 * HOUR_MS, words: 'a day' },
]

/** A span in which the state of a key does not change with time: from `since` to before `until`. */
export interface Span {
  since: number
  until: number
}

export interface Expiry {
  /** Time of spec.expiresAt; Infinity: never. */
  expiresAt: number
  /** Time of each notAfter in spec.secretRefs; Infinity: never. */
  notAfter: number[]
  span: Span
}

/** When a key expires (at spec.expiresAt, or with the last of spec.secretRefs), with a finding if that is soon or past. */
export function expiryOf(spec: ApiKeySpec, now: number, findings: Findings): Expiry {
  const read = (field: string, text: string | undefined) => {
    const at = text === undefined ? Number.POSITIVE_INFINITY : Date.parse(text)
    if (!Number.isNaN(at)) return at
    findings.refusals.push({ reason: 'Invalid', message: `${field} is not a valid time` })
    return Number.POSITIVE_INFINITY
  }
  const expiresAt = read('spec.expiresAt', spec.expiresAt)
  const notAfter = (spec.secretRefs ?? []).map((ref, i) =>
    read(`spec.secretRefs[${i}].notAfter`, ref.notAfter),
  )
  const last = notAfter.length === 0 ? Number.POSITIVE_INFINITY : Math.max(...notAfter)
  const end = Math.min(expiresAt, last)
  const cure =
    expiresAt <= last
      ? 'set spec.expiresAt to a later time, or remove it'
      : 'add an entry to spec.secretRefs, or set a later notAfter'
  const near = WARNINGS.find(({ ms }) => end - now <= ms)
  if (near !== undefined) {
    const moment = new Date(end).toISOString()
    const expired = `the key expired at ${moment} and is refused; ${cure}`
    const expiring = `the key expires at ${moment}, within ${near.words}`
    if (end <= now) findings.refusals.push({ reason: 'Expired', message: expired })
    else if (spec.disabled !== true) findings.notes.push({ reason: 'Expiring', message: expiring })
  }
  const warnings = WARNINGS.map(({ ms }) => end - ms)
  return { expiresAt, notAfter, span: spanAround(now, [end, ...warnings, ...notAfter]) }
}

const ALWAYS: Span = { since: Number.NEGATIVE_INFINITY, until: Number.POSITIVE_INFINITY }

/** The span around `now` between these moments. */
function spanAround(now: number, moments: readonly number[]): Span {
  if (moments.every((moment) => moment === Number.POSITIVE_INFINITY)) return ALWAYS
  return {
    since: Math.max(Number.NEGATIVE_INFINITY, ...moments.filter((moment) => moment <= now)),
    until: Math.min(Number.POSITIVE_INFINITY, ...moments.filter((moment) => moment > now)),
  }
}

export const isWithin = (now: number, { since, until }: Span): boolean => now >= since && now < until
