/**
 * Writes every entry of the ledger to a place outside the store, in order for each account, at least once. An entry may be
 * removed from the store only behind the mark that the journal keeps there.
 */
import type { Log } from '../../contract/log.ts'
import type { Ledger, LedgerEntry } from '../../store/ledger/contract.ts'
import { entryLine, type Names, openingLine, sumsBefore } from './journal-line.ts'
import type { JournalSink } from './journal-sink.ts'

const PAGE = 500

interface JournalOptions {
  ledger: Ledger
  sink: JournalSink
  names: Names
  /** Entries stay in the store this long after they were written. */
  keepMs: number
  log: Log
  /** Called with each attempt to write lines. */
  onWrite?: ((lines: number, failed: boolean) => void) | undefined
}

export class Journal {
  readonly #options: JournalOptions
  /** The last entry of each account that was written. */
  readonly #marks = new Map<string, string | undefined>()
  /** Of each account, the calls that run one after another. */
  readonly #shipping = new Map<string, Promise<unknown>>()
  /** performance.now() since which lines wait because they cannot be written. */
  #stuckSince: number | undefined

  constructor(options: JournalOptions) {
    this.#options = options
  }

  /** How long lines have waited that cannot be written; 0 while all is well. */
  get lagSeconds(): number {
    return this.#stuckSince === undefined ? 0 : (performance.now() - this.#stuckSince) / 1_000
  }

  /** The store may have lost its marks. */
  distrust(): void {
    this.#marks.clear()
  }

  /**
   * Writes the new entries of an account. A line that cannot be written waits for the next call. The answer is about the
   * entry `upTo`: `missing` if the ledger has lost it before it was written. Rejects with StoreUnavailable.
   */
  async ship(account: string, upTo?: string): Promise<'written' | 'stuck' | 'missing'> {
    const before = this.#shipping.get(account)
    const call = (async () => {
      await before?.catch(() => {})
      return this.#ship(account, upTo)
    })()
    this.#shipping.set(account, call)
    try {
      return await call
    } finally {
      if (this.#shipping.get(account) === call) this.#shipping.delete(account)
    }
  }

  async #ship(account: string, upTo: string | undefined): Promise<'written' | 'stuck' | 'missing'> {
    const { ledger, names, keepMs } = this.#options
    if (upTo !== undefined && this.#marks.get(account) === upTo) return 'written'
    if (!this.#marks.has(account)) {
      const begun = await this.#begin(account)
      if (begun !== 'written') return begun
    }
    let found = this.#marks.get(account) === upTo
    for (;;) {
      const mark = this.#marks.get(account)
      const page = await ledger.entries(account, mark, PAGE)
      const last = page.at(-1)
      if (last === undefined) break
      if (!(await this.#write(page.map((entry) => entryLine(account, entry, names))))) return 'stuck'
      await ledger.trim(account, last.id, keepMs)
      this.#marks.set(account, last.id)
      found ||= page.some(({ id }) => id === upTo)
      if (page.length < PAGE) break
    }
    return found || upTo === undefined ? 'written' : 'missing'
  }

  close(): Promise<void> {
    return this.#options.sink.close()
  }

  /** Finds the mark of an account. `missing`: it is unknown; `stuck`: its opening cannot be written. */
  async #begin(account: string): Promise<'written' | 'stuck' | 'missing'> {
    const { ledger, names } = this.#options
    const balance = await ledger.balance(account)
    if (balance === undefined) return 'missing'
    let opening: string | undefined
    if (balance.journaled === undefined && balance.lastEntry !== undefined) {
      const all = await this.#allUpTo(account, balance.lastEntry)
      const { credited, spent } = sumsBefore(balance, all)
      const before = all[0]?.id
      if (credited !== 0 || spent !== 0) opening = openingLine(account, { credited, spent, before }, names)
    }
    if (opening !== undefined && !(await this.#write([opening]))) return 'stuck'
    this.#marks.set(account, balance.journaled)
    return 'written'
  }

  async #allUpTo(account: string, last: string): Promise<LedgerEntry[]> {
    const all: LedgerEntry[] = []
    for (let after: string | undefined; ; ) {
      const page = await this.#options.ledger.entries(account, after, PAGE)
      for (const entry of page) {
        all.push(entry)
        if (entry.id === last) return all
      }
      after = page.at(-1)?.id
      if (page.length < PAGE || after === undefined) return all
    }
  }

  async #write(lines: readonly string[]): Promise<boolean> {
    const { sink, log, onWrite } = this.#options
    try {
      await sink.write(lines.join(''))
    } catch (error) {
      if (this.#stuckSince === undefined) log.error({ err: error }, 'cannot write the ledger journal')
      this.#stuckSince ??= performance.now()
      onWrite?.(lines.length, true)
      return false
    }
    if (this.#stuckSince !== undefined) log.info({}, 'the ledger journal is written again')
    this.#stuckSince = undefined
    onWrite?.(lines.length, false)
    return true
  }
}
