import { forgetUnused } from '../ledger/budgets.ts'
import type { Balance, EntryNote, Ledger, NamedSums, SettleReply } from '../ledger/contract.ts'
import { adjust, isFenced, topup } from '../ledger/credits.ts'
import { compareEntries } from '../ledger/entry-log.ts'
import { reap } from '../ledger/expiry.ts'
import { forgetEmpty } from '../ledger/meters.ts'
import { settleOld } from '../ledger/old-settle.ts'
import { renew } from '../ledger/renew.ts'
import { reserve } from '../ledger/reserve.ts'
import { type OldSettle, settle } from '../ledger/settle.ts'
import { AccountState } from '../ledger/state.ts'
import { count, parseTag, rowsOf, type UsageBook } from '../ledger/usage.ts'

/** Entries that a trim leaves an account, and ids of a quarter of an hour: thousands of requests a second would fill gigabytes. */
const MOST_OF_ACCOUNT = 50_000
/** The accounts that have sent requests share this many, but each keeps the newest LEAST_OF_ACCOUNT. */
const MOST_IN_ALL = 200_000
const LEAST_OF_ACCOUNT = 1_000
const TRIM_EVERY_MS = 10_000
/** An account in use is looked after for a minute; a touch at each command would order the accounts anew each time. */
const TOUCH_AGAIN_MS = 100

export interface EmbeddedLedger extends Ledger {
  /** The accounts, and the places of keys without one, that have usage. */
  usagePlaces(): string[]
}

/** Commands run one after another: none awaits before it has changed what it changes. */
export function createLedger(now: () => number): EmbeddedLedger {
  const accounts = new Map<string, AccountState>()
  /** Usage by account, which need not be open, and of keys without one. */
  const books = new Map<string, UsageBook>()
  /** In the order of the last touch. */
  const touched = new Map<string, number>()
  /** Accounts that have sent requests since the start. */
  const requesting = new Set<string>()

  function run<Reply>(account: string, unknown: Reply, command: (state: AccountState) => Reply): Reply {
    const state = accounts.get(account)
    if (state === undefined) return unknown
    touch(account)
    return command(state)
  }

  function touch(account: string): void {
    const at = now()
    const since = at - (touched.get(account) ?? Number.NEGATIVE_INFINITY)
    if (since >= 0 && since < TOUCH_AGAIN_MS) return
    touched.delete(account)
    touched.set(account, at)
  }

  const mostOfAccount = () =>
    Math.max(LEAST_OF_ACCOUNT, Math.min(MOST_OF_ACCOUNT, Math.floor(MOST_IN_ALL / requesting.size)))

  function bookOf(account: string): UsageBook {
    const known = books.get(account)
    if (known !== undefined) return known
    const book: UsageBook = { usage: new Map(), tags: new Map(), keyNames: new Map() }
    books.set(account, book)
    return book
  }

  const ledger: EmbeddedLedger = {
    trimEveryMs: TRIM_EVERY_MS,
    async open({ account, epoch, create, closed = false }) {
      const known = accounts.get(account)
      if (known === undefined && !create) return 'NOACCT'
      const state = known ?? new AccountState(account, mostOfAccount)
      if (isFenced(state, epoch)) return 'FENCED'
      state.closed = closed
      if (known !== undefined) return 'DUP'
      state.epoch = epoch
      accounts.set(account, state)
      return 'OK'
    },
    async topup(command) {
      return run(command.account, { reply: 'NOACCT' }, (state) => topup(state, command, now()))
    },
    async adjust(command) {
      return run(command.account, 'NOACCT', (state) => adjust(state, command, now()))
    },
    reserve(command) {
      const own = { ...command, note: copyOf(command.note) }
      return run(command.account, { reply: 'NOACCT' }, (state) => reserve(state, own, now()))
    },
    async renew(account, renewals) {
      const own = renewals.map((renewal) => ({ ...renewal, note: copyOf(renewal.note) }))
      const unknown = renewals.map(() => 'NOACCT' as const)
      return run(account, unknown, (state) => renew(state, own, now()))
    },
    settle(command) {
      const own = { ...command, note: copyOf(command.note) }
      const post = (proven: boolean): SettleReply | OldSettle =>
        run(command.account, { reply: 'NOACCT' }, (state) => {
          requesting.add(state.account)
          return settle(state, own, now(), proven)
        })
      const reply = post(false)
      if (reply.reply !== 'OLD') return reply
      return settleOld(ledger, command, reply.setBackMs, async () => post(true) as SettleReply)
    },
    async reap(account, max) {
      const state = accounts.get(account)
      return state === undefined ? [] : reap(state, max, now())
    },
    async balance(account, named = {}) {
      const state = accounts.get(account)
      return state && balanceOf(state, named)
    },
    async entries(account, after, count) {
      return accounts.get(account)?.log.after(after, count) ?? []
    },
    async trim(account, upTo, keepMs) {
      const state = accounts.get(account)
      if (state === undefined) return
      if (upTo !== undefined) state.journaled = later(state.journaled, upTo)
      const oldest = later(state.log.newest(mostOfAccount()), `${Math.max(0, now() - keepMs)}-0`)
      const before = upTo !== undefined && compareEntries(upTo, oldest) < 0 ? upTo : oldest
      if (state.log.trim(before) > 0) state.trimmedTo = later(state.trimmedTo, before)
      forgetEmpty(state, now())
      forgetUnused(state, now())
    },
    async count(account, rows, mark) {
      const state = accounts.get(account)
      if (mark !== undefined && state?.countedTo !== mark.after) return 'MOVED'
      if (mark !== undefined && state !== undefined) state.countedTo = mark.upTo
      for (const row of rows) count(bookOf(account), row, now())
      return 'OK'
    },
    usagePlaces: () => [...books.keys()],
    async *usage(account, span) {
      const book = books.get(account)
      if (book !== undefined) yield rowsOf(book, span)
    },
    async tagUsage(account, { from, to }) {
      return [...(books.get(account)?.tags ?? [])]
        .map(([field, counts]) => ({ ...parseTag(field), counts: { ...counts } }))
        .filter(({ day }) => day >= from && day <= to)
    },
    async touch() {},
    async touched(since, count) {
      const found = [...touched].filter(([, at]) => at >= since).map(([account, at]) => ({ account, at }))
      return found.slice(0, count)
    },
    async walk(cursor, count) {
      const from = Number(cursor ?? 0)
      const page = [...accounts.keys()].slice(from, from + count)
      const next = from + page.length
      return { accounts: page, next: next < accounts.size ? String(next) : undefined }
    },
  }
  return ledger
}

function balanceOf(state: AccountState, named: NamedSums): Balance {
  const { epoch, entries, log, journaled, trimmedTo, restoredTo, countedTo } = state
  return {
    ...state.funds,
    subs: pick(state.subs, named.subs),
    budgets: pick(state.budgets, named.budgets),
    levels: levelsOf(state, named.meters),
    epoch,
    entries,
    lastEntry: log.last,
    journaled,
    trimmedTo,
    countedTo,
    restoredTo,
  }
}

function levelsOf(state: AccountState, meters: NamedSums['meters'] = []): Balance['levels'] {
  const levels: Balance['levels'] = {}
  for (const { id, windowMs } of meters) {
    const level = (windowMs > 0 ? state.fills : state.running).get(id)
    if (level !== undefined) levels[id] = level
  }
  return levels
}

function pick<T extends object>(
  all: ReadonlyMap<string, T>,
  names: readonly string[] = [],
): Record<string, T> {
  return Object.fromEntries(
    names.flatMap((name) => {
      const found = all.get(name)
      return found === undefined ? [] : [[name, { ...found }]]
    }),
  )
}

function later(known: string | undefined, id: string): string {
  return known !== undefined && compareEntries(known, id) > 0 ? known : id
}

/** A copy that its caller cannot change later. Not frozen: that costs four times as much, for each request twice. */
function copyOf(note: EntryNote): EntryNote {
  return { ...note, tokens: { ...note.tokens }, flags: [...note.flags] }
}
