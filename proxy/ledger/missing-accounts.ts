/** Accounts that the ledger does not know: their settles wait for a restore, and are retried less and less often. */

const FIRST_RETRY_MS = 5_000
const MAX_RETRY_MS = 60_000

interface Missing {
  /** performance.now() before which none of its settles is tried. */
  notBefore: number
  /** The wait after the next refusal. */
  waitMs: number
}

export class MissingAccounts {
  readonly #missing = new Map<string, Missing>()

  isDue(account: string): boolean {
    const missing = this.#missing.get(account)
    return missing === undefined || missing.notBefore <= performance.now()
  }

  /** Notes that the ledger does not know the account. True if that was not known yet. */
  add(account: string): boolean {
    const before = this.#missing.get(account)
    // Settles that were sent at the same time fail in the same way.
    if (!this.isDue(account)) return false
    const waitMs = before?.waitMs ?? FIRST_RETRY_MS
    this.#missing.set(account, {
      notBefore: performance.now() + waitMs,
      waitMs: Math.min(waitMs * 2, MAX_RETRY_MS),
    })
    return before === undefined
  }

  /** Notes that the ledger knows the account. True if that was not known yet. */
  delete(account: string): boolean {
    return this.#missing.delete(account)
  }

  /** Retries all of them at once: lost accounts may be back. */
  retryAll(): void {
    for (const missing of this.#missing.values())
      Object.assign(missing, { notBefore: 0, waitMs: FIRST_RETRY_MS })
  }
}
