/** Rate limits in headers of the OpenAI family: https://platform.openai.com/docs/guides/rate-limits */
import { RATE_KINDS, type RateLimits } from '../core/rate-limits.ts'

export function openaiRateLimits(limits: RateLimits): Record<string, string> {
  const headers = RATE_KINDS.flatMap((kind) => {
    const limit = limits[kind]
    if (limit === undefined) return []
    return [
      [`x-ratelimit-limit-${kind}`, String(limit.most)],
      [`x-ratelimit-remaining-${kind}`, String(limit.left)],
      [`x-ratelimit-reset-${kind}`, spanOf(limit.resetMs)],
    ]
  })
  return Object.fromEntries(headers)
}

/** Such as "120ms", "6s" or "1h0m12s". */
function spanOf(ms: number): string {
  if (ms < 1_000) return `${ms}ms`
  const seconds = Math.ceil(ms / 1_000)
  const [h, m, s] = [Math.floor(seconds / 3_600), Math.floor(seconds / 60) % 60, seconds % 60]
  return `${h > 0 ? `${h}h` : ''}${h > 0 || m > 0 ? `${m}m` : ''}${s}s`
}
