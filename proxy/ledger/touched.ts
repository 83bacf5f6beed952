/**
 * Reports to the ledger which accounts are in use, so that the leader looks after them alone: it expires the holds of dead
 * proxies, and saves what was charged.
 */
import type { Ledger } from '../../store/ledger/contract.ts'

const REPORT_MS = 1_000
/** An account in constant use is reported this often. */
const AGAIN_MS = 10_000

export class TouchedAccounts {
  readonly #ledger: Pick<Ledger, 'touch'>
  /** performance.now() of the last report, by account. */
  readonly #reported = new Map<string, number>()
  readonly #pending = new Set<string>()
  readonly #timer: NodeJS.Timeout
  #reporting: Promise<void> | undefined

  constructor(ledger: Pick<Ledger, 'touch'>) {
    this.#ledger = ledger
    this.#timer = setInterval(() => void this.#report(), REPORT_MS)
    this.#timer.unref()
  }

  add(account: string): void {
    const at = this.#reported.get(account)
    if (at === undefined || performance.now() - at >= AGAIN_MS) this.#pending.add(account)
  }

  /** Everything is reported again: the store may have lost it. */
  restored(): void {
    this.#reported.clear()
  }

  /** Reports what is pending. */
  async stop(): Promise<void> {
    clearInterval(this.#timer)
    await this.#report()
  }

  #report(): Promise<void> {
    this.#reporting ??= this.#send().finally(() => {
      this.#reporting = undefined
    })
    return this.#reporting
  }

  async #send(): Promise<void> {
    const now = performance.now()
    for (const [account, at] of this.#reported) if (now - at >= AGAIN_MS) this.#reported.delete(account)
    if (this.#pending.size === 0) return
    const accounts = [...this.#pending]
    this.#pending.clear()
    try {
      await this.#ledger.touch(accounts)
      for (const account of accounts) this.#reported.set(account, now)
    } catch {
      // The same failure shows in the commands on holds, which report it.
      for (const account of accounts) this.#pending.add(account)
    }
  }
}
