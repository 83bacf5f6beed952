/** Tells clients what is left of their rate limits and of their funds: on answers, and of limits on refusals too. */
import { RATE_KINDS, type RateLimits } from '../../dialects/core/rate-limits.ts'
import type { LimitState } from '../../ledger/limits.ts'
import type { Call } from '../call.ts'

export const WARNING_HEADER = 'x-sluice-balance-warning'

/** What a hold has to tell the client, as headers of its answer. */
export function tellerOf({ client, endpoint }: Pick<Call, 'client' | 'endpoint'>) {
  return {
    onLimits(limits: readonly LimitState[]) {
      const headers = endpoint.api.rateLimitHeaders(tightest(limits), Date.now())
      for (const [name, value] of Object.entries(headers)) client.setHeader(name, value)
    },
    onWarnings(warnings: readonly string[]) {
      client.setHeader(WARNING_HEADER, warnings.join(', '))
    },
  }
}

/** Of each kind, the limit that has the least left of it. */
function tightest(limits: readonly LimitState[]): RateLimits {
  const found = RATE_KINDS.flatMap((kind) => {
    const [least] = limits
      .filter((limit) => limit.kind === kind)
      .sort((a, b) => a.left / a.meter.most - b.left / b.meter.most)
    if (least === undefined) return []
    const { most, windowMs } = least.meter
    const resetMs = Math.ceil(((most - least.left) * windowMs) / most)
    return [[kind, { most, left: least.left, resetMs }] as const]
  })
  return Object.fromEntries(found)
}
