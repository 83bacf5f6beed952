/** Rate limits as clients see them. */

export interface RateLimit {
  most: number
  left: number
  /** Until all of the limit is there again. */
  resetMs: number
}

/** Of each kind, the limit that has the least left of it. */
export type RateLimits = { [Kind in 'requests' | 'tokens']?: RateLimit }

export const RATE_KINDS = ['requests', 'tokens'] as const
