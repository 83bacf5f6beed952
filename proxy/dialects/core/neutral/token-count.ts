/** Token counts from upstreams, which may be any value. */

/** More than any request uses: a larger count is an upstream's mistake. */
const MAX_TOKENS = 1_000_000_000

/** The value as a token count; undefined when it is none. */
export function count(value: unknown): number | undefined {
  return typeof value === 'number' && value >= 0 && !isImpossible(value) ? value : undefined
}

/** True for a fraction or an absurd count. Other values, and negative numbers, count as absent. */
export function isImpossible(value: unknown): boolean {
  return typeof value === 'number' && (!Number.isInteger(value) || value > MAX_TOKENS)
}

/** The counts above zero. */
export function positive<K extends string>(counts: Record<K, number | undefined>): { [k in K]?: number } {
  const kept: { [k in K]?: number } = {}
  for (const kind in counts) {
    const value = counts[kind]
    if (value !== undefined && value > 0) kept[kind] = value
  }
  return kept
}
