/** What a deadline rejects with. */
export class DeadlinePassed extends Error {
  override name = 'DeadlinePassed'
}

/** The promise, or DeadlinePassed after `ms`. Does not stop what the promise stands for. */
export function withDeadline<T>(promise: Promise<T>, ms: number): Promise<T> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => {
      // After a pause of this process the answer may wait in the socket: it is read before this is called.
      setImmediate(() => reject(new DeadlinePassed(`no answer within ${ms} ms`)))
    }, ms)
    promise.then(resolve, reject).finally(() => clearTimeout(timer))
  })
}
