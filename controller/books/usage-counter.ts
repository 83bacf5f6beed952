/** Counts the entries of the ledger in the usage, each once, whichever controller leads. */
import type { Ledger } from '../../store/ledger/contract.ts'
import { countedBy } from '../../store/ledger/usage.ts'
import type { Names } from './journal-line.ts'

const PAGE = 1_000

export class UsageCounter {
  readonly #ledger: Pick<Ledger, 'balance' | 'entries' | 'count'>
  readonly #names: Pick<Names, 'key'>

  constructor(ledger: Pick<Ledger, 'balance' | 'entries' | 'count'>, names: Pick<Names, 'key'>) {
    this.#ledger = ledger
    this.#names = names
  }

  /** Counts what is new in an account. Rejects with StoreUnavailable. */
  async count(account: string): Promise<void> {
    for (;;) {
      const balance = await this.#ledger.balance(account)
      if (balance?.lastEntry === undefined || balance.countedTo === balance.lastEntry) return
      const after = balance.countedTo
      const page = await this.#ledger.entries(account, after, PAGE)
      const upTo = page.at(-1)?.id
      if (upTo === undefined) return
      // MOVED: another controller has counted them meanwhile.
      await this.#ledger.count(account, countedBy(page, this.#names.key), { after, upTo })
    }
  }
}
