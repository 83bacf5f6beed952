/**
 * Expires the holds of proxies that have died, counts usage, and removes old entries. Looks at accounts in use, and at all others slowly, so
 * that idle accounts cost nearly nothing.
 */
import { pause } from '../../kit/time.ts'
import type { Ledger } from '../../store/ledger/contract.ts'
import type { Journal } from './journal.ts'
import type { UsageCounter } from './usage-counter.ts'

/** An account is watched this long after its last use: longer than a lease, and than the report of a proxy takes. */
const WATCHED_MS = 60_000
/** Proxies report their accounts a second late, and clocks of a store may be set back a little. */
const OVERLAP_MS = 5_000
const PAGE = 10_000
/** Accounts at once: enough to hide the round-trip time, few enough that none times out in a queue. */
const AT_ONCE = 16
/** Holds that one call expires, so that the ledger never blocks for long. */
const BATCH = 1_000
/** Accounts of one page of a walk over all. */
const WALK_PAGE = 500
/** How long entries are kept: longer than an outage after which a settle is repeated without its hold. */
export const ENTRIES_KEPT_MS = 7_200_000

export class Sweep {
  readonly #ledger: Ledger
  readonly #usage: Pick<UsageCounter, 'count'>
  readonly #journal: Pick<Journal, 'ship'> | undefined
  /** The last use of each account on the store's clock, and performance.now() of when it became known. */
  readonly #watched = new Map<string, { at: number; knownAt: number }>()
  /** The last use of accounts that are watched no longer, as long as looks still find it. */
  readonly #over = new Map<string, number>()
  /** performance.now() of the last removal of old entries, of accounts that are watched. */
  readonly #trimmedAt = new Map<string, number>()
  /** Store time of the newest use that is known. */
  #newest = 0

  /** Entries are removed once they were counted, and with a journal once they were written there. */
  constructor(ledger: Ledger, usage: Pick<UsageCounter, 'count'>, journal?: Pick<Journal, 'ship'>) {
    this.#ledger = ledger
    this.#usage = usage
    this.#journal = journal
  }

  /** Accounts in use, or in use until a minute ago. */
  get active(): readonly string[] {
    return [...this.#watched.keys()]
  }

  /** Finds the accounts in use and expires their due holds. Rejects with StoreUnavailable. */
  async round(): Promise<void> {
    await this.#look()
    const old = performance.now() - WATCHED_MS
    await each([...this.#watched], async ([account, { at, knownAt }]) => {
      await this.#reap(account)
      await this.#usage.count(account)
      if (this.#journal === undefined) await this.#trimSometimes(account)
      else await this.#journal.ship(account)
      if (knownAt >= old) return
      this.#watched.delete(account)
      this.#trimmedAt.delete(account)
      this.#over.set(account, at)
    })
  }

  /** Looks at all accounts, at most so many a second. Rejects with StoreUnavailable. */
  async walk(perSecond: number, signal: AbortSignal): Promise<void> {
    let cursor: string | undefined
    do {
      const startedAt = performance.now()
      const { accounts, next } = await this.#ledger.walk(cursor, WALK_PAGE)
      await each(accounts, async (account) => {
        await this.#reap(account)
        await this.#usage.count(account)
        await this.#trim(account)
      })
      cursor = next
      const wait = (accounts.length / perSecond) * 1_000 - (performance.now() - startedAt)
      if (cursor !== undefined && wait > 0) await pause(wait, signal, 'resolve')
    } while (cursor !== undefined && !signal.aborted)
  }

  async #look(): Promise<void> {
    let since = Math.max(0, this.#newest - OVERLAP_MS)
    for (const [account, at] of this.#over) if (at < since) this.#over.delete(account)
    for (;;) {
      const page = await this.#ledger.touched(since, PAGE)
      const knownAt = performance.now()
      for (const { account, at } of page)
        if (this.#watched.get(account)?.at !== at && this.#over.get(account) !== at)
          this.#watched.set(account, { at, knownAt })
      const last = page.at(-1)?.at
      this.#newest = Math.max(this.#newest, last ?? 0)
      if (page.length < PAGE || last === undefined) return
      // A page of a single millisecond would be read for ever.
      since = last > since ? last : last + 1
    }
  }

  async #trimSometimes(account: string): Promise<void> {
    const now = performance.now()
    if (now - (this.#trimmedAt.get(account) ?? Number.NEGATIVE_INFINITY) < this.#ledger.trimEveryMs) return
    this.#trimmedAt.set(account, now)
    await this.#trim(account)
  }

  async #trim(account: string): Promise<void> {
    if (this.#journal === undefined) await this.#ledger.trim(account, undefined, ENTRIES_KEPT_MS)
    else await this.#journal.ship(account)
  }

  async #reap(account: string): Promise<void> {
    while ((await this.#ledger.reap(account, BATCH)).length === BATCH);
  }
}

/** Runs `work` on all, a few at once; throws the first error at the end. */
async function each<T>(items: readonly T[], work: (item: T) => Promise<void>): Promise<void> {
  const errors: unknown[] = []
  const queue = items.values()
  const lane = async () => {
    for (const item of queue) await work(item).catch((error: unknown) => errors.push(error))
  }
  await Promise.all(Array.from({ length: Math.min(AT_ONCE, items.length) }, lane))
  if (errors.length > 0) throw errors[0]
}
