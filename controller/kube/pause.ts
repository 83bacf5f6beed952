/** Waits that end early. */
import { setTimeout as sleep } from 'node:timers/promises'

/** Rejects with the signal's reason when it is aborted. */
export async function pause(ms: number, signal: AbortSignal): Promise<void> {
  try {
    await sleep(ms, undefined, { signal })
  } catch {
    signal.throwIfAborted()
  }
}

/** `minMs` doubled with each failure up to `maxMs`, less up to a half at random so that many do not come at once. */
export function backoffMs(failures: number, minMs: number, maxMs: number): number {
  return Math.min(maxMs, minMs * 2 ** failures) * (0.5 + Math.random() / 2)
}
