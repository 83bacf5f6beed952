/**
 * Results that are often there at once: a record in memory, a ledger in this process. Awaiting one costs two promises and a
 * turn of the microtask queue, so the stages of a request await only what is not there yet.
 */

/** A result, or a promise of it. A function that returns it may also throw at once. */
export type Soon<T> = T | Promise<T>

export function isLater<T>(result: Soon<T>): result is Promise<T> {
  return result instanceof Promise
}

/** What `next` makes of the result: at once if the result is there. */
export function after<T, R>(result: Soon<T>, next: (result: T) => Soon<R>): Soon<R> {
  return result instanceof Promise ? result.then(next) : next(result)
}

/** The result of `work`, or of `rescue` with the error that `work` throws or rejects with. */
export function rescued<T>(work: () => Soon<T>, rescue: (error: unknown) => Soon<T>): Soon<T> {
  try {
    const result = work()
    return result instanceof Promise ? result.catch(rescue) : result
  } catch (error) {
    return rescue(error)
  }
}
