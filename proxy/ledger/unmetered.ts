/**
 * Usage of keys that no account pays for. Requests are added up here and counted in the store every second, so that each costs it
 * next to nothing. A process that is killed loses the last second.
 */
import { unmeteredId } from '../../contract/ids.ts'
import type { CountedOfKey, Ledger, Tags, UsageCounts } from '../../store/ledger/contract.ts'
import { addCounts } from '../../store/ledger/usage.ts'

const FLUSH_MS = 1_000
/** Rows that wait while the store is away. */
const MOST_ROWS = 10_000

/** Where a request is counted. */
export interface UnmeteredUse extends Pick<CountedOfKey, 'key' | 'model' | 'channel'> {
  namespace: string
  keyName: string
  tags: Tags
}

interface Row {
  namespace: string
  row: Parameters<Ledger['count']>[1][number]
}

export class UnmeteredUsage {
  readonly #ledger: Pick<Ledger, 'count'>
  readonly #lost: (requests: number) => void
  #rows = new Map<string, Row>()
  #timer: NodeJS.Timeout | undefined
  #flushing: Promise<void> = Promise.resolve()

  /** `lost` is called with the number of requests that the store did not count. */
  constructor(ledger: Pick<Ledger, 'count'>, lost: (requests: number) => void) {
    this.#ledger = ledger
    this.#lost = lost
  }

  add({ namespace, tags, ...place }: UnmeteredUse, counts: UsageCounts): void {
    this.#add(namespace, { ...place, counts })
    for (const [name, value] of Object.entries(tags)) this.#add(namespace, { tag: { name, value }, counts })
    this.#timer ??= setTimeout(() => {
      this.#timer = undefined
      this.#flushing = this.#flush()
    }, FLUSH_MS).unref()
  }

  /** Counts what waits. */
  async stop(): Promise<void> {
    clearTimeout(this.#timer)
    await this.#flushing
    await this.#flush()
  }

  #add(namespace: string, { counts, ...place }: Row['row']): void {
    const name = JSON.stringify([namespace, place])
    const known = this.#rows.get(name)
    if (known !== undefined) addCounts(known.row.counts, counts)
    else if (this.#rows.size < MOST_ROWS)
      this.#rows.set(name, { namespace, row: { ...place, counts: { ...counts } } as Row['row'] })
    else if ('key' in place) this.#lost(counts.requests ?? 0)
  }

  async #flush(): Promise<void> {
    const rows = [...this.#rows.values()]
    this.#rows = new Map()
    for (const [namespace, own] of Map.groupBy(rows, (row) => row.namespace)) {
      try {
        await this.#ledger.count(
          unmeteredId(namespace),
          own.map(({ row }) => row),
        )
      } catch {
        // Whether the store has counted them is not clear: counting them again could count them twice.
        this.#lost(own.reduce((sum, { row }) => sum + ('key' in row ? (row.counts.requests ?? 0) : 0), 0))
      }
    }
  }
}
