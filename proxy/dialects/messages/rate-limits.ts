/** Rate limits in headers of the messages API: https://docs.anthropic.com/en/api/rate-limits#response-headers */
import { RATE_KINDS, type RateLimits } from '../core/rate-limits.ts'

export function rateLimitHeaders(limits: RateLimits, nowMs: number): Record<string, string> {
  const headers = RATE_KINDS.flatMap((kind) => {
    const limit = limits[kind]
    if (limit === undefined) return []
    const reset = new Date(Math.ceil((nowMs + limit.resetMs) / 1_000) * 1_000)
    return [
      [`anthropic-ratelimit-${kind}-limit`, String(limit.most)],
      [`anthropic-ratelimit-${kind}-remaining`, String(limit.left)],
      [`anthropic-ratelimit-${kind}-reset`, `${reset.toISOString().slice(0, 19)}Z`],
    ]
  })
  return Object.fromEntries(headers)
}
