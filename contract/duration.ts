/**
 * Durations as resources write them: one or more of h, m, s, ms, largest first ("1h30m", "30s", "250ms"). The digits
 * are limited (hours to 299) so that every duration stays below 2^31 ms, the longest that a timer accepts. No part is
 * zero: a time-out of zero would end every request at once.
 */
export const DURATION =
  /^([1-9][0-9]?h|[12][0-9]{2}h)?([1-9][0-9]{0,3}m)?([1-9][0-9]{0,4}s)?([1-9][0-9]{0,7}ms)?$/

const UNIT_MS: Record<string, number> = { h: 3_600_000, m: 60_000, s: 1_000, ms: 1 }

/** Parses a duration into milliseconds. Throws RangeError on other text. */
export function parseDuration(text: string): number {
  if (text === '' || !DURATION.test(text)) throw new RangeError('not a duration such as 30s, 5m or 1h30m')
  let total = 0
  for (const [, count, unit = ''] of text.matchAll(/([0-9]{1,8})(ms|h|m|s)/g))
    total += Number(count) * (UNIT_MS[unit] ?? 0)
  return total
}
