/** Numbers of tokens as upstreams report them, which may be anything. */

/** More than any request uses: a larger count is a mistake of the upstream. */
const MAX_TOKENS = 1_000_000_000

/** A number of tokens; undefined for what is none. */
export function count(value: unknown): number | undefined {
  return typeof value === 'number' && value >= 0 && !isImpossible(value) ? value : undefined
}

/** True for a fraction or a count past all measure. Details that are no or negative numbers count as absent. */
export function isImpossible(value: unknown): boolean {
  return typeof value === 'number' && (!Number.isInteger(value) || value > MAX_TOKENS)
}
