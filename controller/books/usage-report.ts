/** Who used what: the usage of all accounts, added up as asked for. */
import { unmeteredId } from '../../contract/ids.ts'
import type { AccountRecord, KeyRecord } from '../../contract/table/records.ts'
import type { Ledger, UsageCounts } from '../../store/ledger/contract.ts'
import { addCounts, DAY_MS } from '../../store/ledger/usage.ts'
import type { Dimension, UsageLine, UsageQuery } from '../snapshot.ts'
import type { UsageCounter } from './usage-counter.ts'

interface Known {
  accounts: ReadonlyMap<string, AccountRecord>
  keys: ReadonlyMap<string, KeyRecord>
}

/** What names the rows. */
interface Names extends Known {
  /** Places of keys without an account. */
  unmetered: ReadonlySet<string>
}

const WALK_PAGE = 1_000
/** Accounts that are read at once. */
const AT_ONCE = 16

/** Counts what is new first, so that costs add up to those of the ledger. Rejects with StoreUnavailable. */
export async function reportUsage(
  ledger: Pick<Ledger, 'walk' | 'usage' | 'tagUsage'>,
  counter: Pick<UsageCounter, 'count'>,
  { accounts, keys }: Known,
  { from, to, by }: UsageQuery,
): Promise<UsageLine[]> {
  const namespaces = new Set([...keys.values(), ...accounts.values()].map(({ namespace }) => namespace))
  const known: Names = { accounts, keys, unmetered: new Set([...namespaces].map(unmeteredId)) }
  const lines = new Map<string, UsageLine>()
  const add = (all: Partial<Record<Dimension, string>>, counts: UsageCounts) => {
    const name = by.map((dimension) => all[dimension] ?? '').join('\n')
    let line = lines.get(name)
    if (line === undefined) {
      line = { of: Object.fromEntries(by.map((dimension) => [dimension, all[dimension] ?? ''])), counts: {} }
      lines.set(name, line)
    }
    addCounts(line.counts, counts)
  }
  const dates = new Map<number, string>()
  const dateOf = (day: number) => {
    const date = dates.get(day) ?? new Date(day * DAY_MS).toISOString().slice(0, 10)
    dates.set(day, date)
    return date
  }
  const namesOfKeys = new Map([...known.keys.values()].map((key) => [key.id, `${key.namespace}/${key.name}`]))
  const read = async (place: string) => {
    await counter.count(place)
    const span = { from, to }
    if (by.includes('tag')) {
      const account = nameOf(known, place, '')
      for (const { day, name, value, counts } of await ledger.tagUsage(place, span))
        add({ account, day: dateOf(day), tag: `${name}=${value === '' ? '(others)' : value}` }, counts)
      return
    }
    for await (const rows of ledger.usage(place, span))
      for (const { day, key, keyName, model, channel, sub, counts } of rows) {
        const account = nameOf(known, place, sub)
        const name = keyName ?? namesOfKeys.get(key) ?? key
        add({ account, key: name, model, channel, day: dateOf(day) }, counts)
      }
  }
  await each(await placesOf(ledger, known), read)
  return [...lines].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, line]) => line)
}

/** All accounts ever opened, and the places of keys without one. */
async function placesOf(ledger: Pick<Ledger, 'walk'>, { unmetered }: Names): Promise<Set<string>> {
  const places = new Set(unmetered)
  let cursor: string | undefined
  do {
    const page = await ledger.walk(cursor, WALK_PAGE)
    for (const account of page.accounts) places.add(account)
    cursor = page.next
  } while (cursor !== undefined)
  return places
}

/** Empty for keys without an Account; the id of an account that is gone. */
function nameOf({ accounts, unmetered }: Names, place: string, sub: string): string {
  const id = sub === '' ? place : sub
  const record = accounts.get(id)
  if (record?.ofKey === true) return ''
  if (record !== undefined) return `${record.namespace}/${record.name}`
  return unmetered.has(place) ? '' : id
}

async function each(places: ReadonlySet<string>, work: (place: string) => Promise<void>): Promise<void> {
  const queue = places.values()
  const lane = async () => {
    for (const place of queue) await work(place)
  }
  await Promise.all(Array.from({ length: AT_ONCE }, lane))
}
