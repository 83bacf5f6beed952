import { type Backoff, backoffMs } from '../../kit/backoff.ts'

const BACKOFF: Backoff = { firstMs: 50, lastMs: 400, jitter: 1 }
/** A request does not wait for a longer Retry-After: the client or another channel is the better place to retry. */
const MAX_RETRY_AFTER_SECONDS = 5

/**
 * Milliseconds to wait before a retry on the same channel; undefined: do not retry there. `retry` counts from 1.
 * Without a Retry-After the wait is random, below a ceiling that doubles from 50 to 400 ms.
 * `random` is from [0, 1).
 */
export function retryDelay(
  retry: number,
  retryAfterSeconds: number | undefined,
  random: number,
): number | undefined {
  if (retryAfterSeconds !== undefined)
    return retryAfterSeconds <= MAX_RETRY_AFTER_SECONDS ? Math.max(0, retryAfterSeconds * 1_000) : undefined
  return backoffMs(retry - 1, BACKOFF, random)
}
