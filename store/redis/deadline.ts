/** `withDeadline` timed out. */
export class DeadlinePassed extends Error {
  override name = 'DeadlinePassed'
}

/** Rejects with DeadlinePassed if the promise has not settled after `ms`. Does not cancel the work behind the promise. */
export function withDeadline<T>(promise: Promise<T>, ms: number): Promise<T> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => {
      // After a pause of this process, the answer may be waiting in the socket: setImmediate lets it be read first.
      setImmediate(() => reject(new DeadlinePassed(`no answer within ${ms} ms`)))
    }, ms)
    promise.then(resolve, reject).finally(() => clearTimeout(timer))
  })
}
