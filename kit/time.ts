/** Waiting: pauses, deadlines, and the longest delay that a timer takes. */

import type { Cancellation } from './cancel.ts'

/** In milliseconds; for a longer delay `setTimeout` fires at once. */
export const MAX_TIMER_MS = 2 ** 31 - 1

/** Waits `ms`. When `signal` aborts, the wait ends at once: it resolves, or rejects with the reason of the signal. */
export function pause(ms: number, signal: Cancellation, onAbort: 'resolve' | 'reject'): Promise<void> {
  return new Promise((resolve, reject) => {
    const end = () => {
      clearTimeout(timer)
      signal.removeEventListener('abort', end)
      if (signal.aborted && onAbort === 'reject') reject(signal.reason)
      else resolve()
    }
    const timer = setTimeout(end, Math.min(ms, MAX_TIMER_MS))
    signal.addEventListener('abort', end)
    if (signal.aborted) end()
  })
}

/**
 * The result of `work`, or a rejection with `onTimeout()` after `ms`. The work itself goes on. `over` is called first,
 * however it ends.
 */
export function withDeadline<T>(
  work: Promise<T>,
  ms: number,
  onTimeout: () => Error,
  over: () => void = () => {},
): Promise<T> {
  return raced(work, (reject) => {
    // A result may have arrived while this process stood still. The event loop reads it before setImmediate runs.
    const timer = setTimeout(() => setImmediate(() => reject(onTimeout())), Math.min(ms, MAX_TIMER_MS))
    return () => {
      clearTimeout(timer)
      over()
    }
  })
}

/** The result of `work`, or a rejection with the reason of `signal` as soon as it aborts. The work itself goes on. */
export function unlessAborted<T>(work: Promise<T>, signal: Cancellation): Promise<T> {
  return raced(work, (reject) => {
    const onAbort = () => reject(signal.reason)
    if (signal.aborted) onAbort()
    else signal.addEventListener('abort', onAbort)
    return () => signal.removeEventListener('abort', onAbort)
  })
}

/** `watch` may reject the result until the function that it returns is called. */
function raced<T>(work: Promise<T>, watch: (reject: (error: unknown) => void) => () => void): Promise<T> {
  return new Promise((resolve, reject) => {
    let stop = () => {}
    const cut = (error: unknown) => {
      stop()
      reject(error)
    }
    stop = watch(cut)
    work.then((result) => {
      stop()
      resolve(result)
    }, cut)
  })
}
