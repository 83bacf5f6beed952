/** How long to wait before something is tried again. */
export interface Backoff {
  firstMs: number
  lastMs: number
  /** The part of the wait that is random, so that many do not come back at once: 0 none of it, 1 all. Default 0. */
  jitter?: number
}

/** Milliseconds after a number of earlier failures: doubled from `firstMs` to `lastMs`. `random` is from [0, 1). */
export function backoffMs(
  failures: number,
  { firstMs, lastMs, jitter = 0 }: Backoff,
  random: number = Math.random(),
): number {
  return Math.min(lastMs, firstMs * 2 ** failures) * (1 - jitter + jitter * random)
}
