/** Limits of a key or an account as records. */
import { hash } from 'node:crypto'
import type { Limits } from '../../contract/api/limits.ts'
import { parseDuration } from '../../contract/duration.ts'
import type { LimitRecord } from '../../contract/table/records.ts'

const MINUTE_MS = 60_000
const DAY_MS = 24 * 60 * MINUTE_MS

const WAITING = 100
const WAIT = '10s'

type Rates = Omit<Limits, 'models' | 'onLimit' | 'queue'>

const RATES: Record<keyof Rates, Pick<LimitRecord, 'id' | 'kind' | 'windowMs'>> = {
  requestsPerMinute: { id: 'rm', kind: 'requests', windowMs: MINUTE_MS },
  requestsPerDay: { id: 'rd', kind: 'requests', windowMs: DAY_MS },
  tokensPerMinute: { id: 'tm', kind: 'tokens', windowMs: MINUTE_MS },
  tokensPerDay: { id: 'td', kind: 'tokens', windowMs: DAY_MS },
  concurrentRequests: { id: 'c', kind: 'concurrent', windowMs: 0 },
}
const NAMES = Object.keys(RATES) as (keyof Rates)[]

/** Empty without limits. */
export function compileLimits(limits: Limits | undefined): { limits?: LimitRecord[] } {
  const { models = {}, onLimit, queue = {}, ...rates } = limits ?? {}
  const records = [
    ...limitsOf(rates),
    ...Object.entries(models).flatMap(([model, own]) => limitsOf(own, model)),
  ]
  if (records.length === 0) return {}
  if (onLimit !== 'Queue') return { limits: records }
  const bounds = { most: queue.requests ?? WAITING, waitMs: parseDuration(queue.wait ?? WAIT) }
  return {
    limits: records.map((record) => (record.kind === 'concurrent' ? { ...record, queue: bounds } : record)),
  }
}

/** The counters of a model have its digest in their ids, because ids have no other characters than letters, digits and slashes. */
function limitsOf(rates: Rates, model?: string): LimitRecord[] {
  const suffix = model === undefined ? '' : `/${hash('sha256', model, 'hex').slice(0, 10)}`
  return NAMES.flatMap((name) => {
    const most = rates[name]
    if (most === undefined) return []
    const { id, ...rate } = RATES[name]
    return [{ id: `${id}${suffix}`, ...rate, most, ...(model !== undefined && { model }) }]
  })
}
