/** Ending work early. */

/** Tells whether work must end early, and why. An AbortSignal is one. */
export interface Cancellation {
  readonly aborted: boolean
  readonly reason: unknown
  throwIfAborted(): void
  /** `listener` must not throw. */
  addEventListener(type: 'abort', listener: () => void): void
  removeEventListener(type: 'abort', listener: () => void): void
}

/** Ends work early. An AbortController is one. */
export interface Canceller {
  readonly signal: Cancellation
  abort(reason: unknown): void
}

/** An AbortController and its signal in one object. Two listeners of an AbortSignal cost a request as much as its key. */
export class Cancel implements Cancellation, Canceller {
  aborted = false
  reason: unknown
  #listeners: (() => void)[] = []

  get signal(): Cancellation {
    return this
  }

  abort(reason: unknown): void {
    if (this.aborted) return
    this.aborted = true
    this.reason = reason
    const listeners = this.#listeners
    this.#listeners = []
    for (const listener of listeners) listener()
  }

  throwIfAborted(): void {
    if (this.aborted) throw this.reason
  }

  addEventListener(_type: 'abort', listener: () => void): void {
    if (!this.aborted) this.#listeners.push(listener)
  }

  removeEventListener(_type: 'abort', listener: () => void): void {
    const at = this.#listeners.indexOf(listener)
    if (at >= 0) this.#listeners.splice(at, 1)
  }
}

/** The same for an API that takes nothing else. */
export function abortSignalOf(cancellation: Cancellation): AbortSignal {
  const control = new AbortController()
  const abort = () => control.abort(cancellation.reason)
  if (cancellation.aborted) abort()
  else cancellation.addEventListener('abort', abort)
  return control.signal
}
