/**
 * The ledger in its simplest form: lists that are searched, sums that are recomputed. It predicts every reply and
 * every balance, so that a store can be compared with it.
 */
import type {
  Adjust,
  AdjustReply,
  Budget,
  Ledger,
  LedgerEntry,
  Meter,
  Open,
  OpenReply,
  Reaped,
  Renewal,
  RenewReply,
  Reserve,
  ReserveReply,
  Settle,
  SettleReply,
  Topup,
  TopupReply,
} from '../../../store/ledger/contract.ts'

const MINUTE = 60_000
const KEEP = 15 * MINUTE
const DAY = 24 * 60 * MINUTE

/** A ledger call as data. */
export type Call =
  | { type: 'open'; command: Open }
  | { type: 'topup'; command: Topup }
  | { type: 'adjust'; command: Adjust }
  | { type: 'reserve'; command: Reserve }
  | { type: 'renew'; account: string; renewals: Renewal[] }
  | { type: 'settle'; command: Settle }
  | { type: 'reap'; account: string; max: number }
  | { type: 'trim'; account: string; upTo: string | undefined; keepMs: number }

export type Reply =
  | OpenReply
  | TopupReply
  | AdjustReply
  | ReserveReply
  | RenewReply[]
  | SettleReply
  | Reaped[]
  | undefined

export async function perform(ledger: Ledger, call: Call): Promise<Reply> {
  switch (call.type) {
    case 'open':
      return ledger.open(call.command)
    case 'topup':
      return ledger.topup(call.command)
    case 'adjust':
      return ledger.adjust(call.command)
    case 'reserve':
      return ledger.reserve(call.command)
    case 'renew':
      return ledger.renew(call.account, call.renewals)
    case 'settle':
      return ledger.settle(call.command)
    case 'reap':
      return ledger.reap(call.account, call.max)
    case 'trim':
      await ledger.trim(call.account, call.upTo, call.keepMs)
      return undefined
  }
}

/** What the reply names beside its words, without the ids of entries, which only a store can know. */
export function namesOf(call: Call, reply: Reply): string[] {
  if (call.type === 'renew') return (reply as RenewReply[]).map((one) => `renew ${one}`)
  if (call.type === 'reap') return [`reap ${(reply as Reaped[]).length === 0 ? 'nothing' : 'some'}`]
  if (call.type === 'trim') return ['trim']
  if (typeof reply === 'string') return [`${call.type} ${reply}`]
  const { reply: word, of } = reply as { reply: string; of?: string }
  return [`${call.type} ${word}${of === undefined ? '' : ` of ${of}`}`]
}

interface ModelHold {
  id: string
  sub: string | undefined
  /** Gone: settled. */
  state: 'live' | 'expired' | 'gone'
  requested: number | undefined
  amount: number
  seen: number
  /** Charged by an expiry. */
  paid: number | undefined
  /** Ids of the meters of live holds, and of the budgets, that count it. */
  running: string[]
  budgets: string[]
  actual: number | undefined
  reservedAt: number
  leaseEnd: number
  /** When it ended. */
  endedAt: number
}

type Entry = Pick<LedgerEntry, 'kind' | 'ref' | 'sub' | 'delta'> & { credited?: number }

/** Milliseconds and number of an entry's id. */
type EntryId = readonly [ms: number, n: number]

const compareIds = ([aMs, aN]: EntryId, [bMs, bN]: EntryId) => aMs - bMs || aN - bN
const idOf = (text: string) => text.split('-').map(Number) as unknown as EntryId
const textOf = (id: EntryId | undefined) => id?.join('-')
const laterOf = (known: EntryId | undefined, id: EntryId) =>
  known !== undefined && compareIds(known, id) > 0 ? known : id

/** Meters over time: how full each is, times its window, so that all numbers are whole. */
class ModelMeters {
  readonly #levels = new Map<string, { level: number; at: number }>()

  level({ id, most }: Omit<Meter, 'takes'>, now: number): number {
    const { level, at } = this.#levels.get(id) ?? { level: 0, at: now }
    return Math.max(0, level - (now - at) * most)
  }

  raise(meter: Omit<Meter, 'takes'>, by: number, now: number): void {
    this.#levels.set(meter.id, { level: Math.max(0, this.level(meter, now) + by * meter.windowMs), at: now })
  }
}

/** All budgets renew at the same time, from the beginning of time on. */
export const PERIOD_MS = 60_000

const byEnd = (a: ModelHold, b: ModelHold) => a.leaseEnd - b.leaseEnd || (a.id < b.id ? -1 : 1)

export class ModelAccount {
  readonly id: string
  readonly credits: Topup[] = []
  readonly corrections = new Set<string>()
  /** All that were ever appended, also those that are removed by now. */
  readonly entries: Entry[] = []
  readonly holds: ModelHold[] = []
  readonly #meters = new ModelMeters()
  /** The period in which each budget was last held, released or charged; those that are forgotten are not there. */
  readonly #usedIn = new Map<string, number>()
  /** Every charge to a budget. */
  readonly #charges: { budget: string; amount: number; period: number }[] = []
  epoch = 0
  #ids: EntryId[] = []
  #removed = 0
  #journaled: EntryId | undefined
  #trimmedTo: EntryId | undefined
  /** Spending without a hold, for the account ('') and its sub-accounts: how far below zero they may be. */
  readonly uncovered = new Map<string, number>()

  constructor(id: string) {
    this.id = id
  }

  /** Of the account if `sub` is undefined; allowances and corrections of sub-accounts do not change it. */
  #own(sub: string | undefined): Entry[] {
    const isOfLeader = (entry: Entry) => entry.kind === 'credit' || entry.kind === 'adjust'
    return this.entries.filter((e) => (sub === undefined ? !isOfLeader(e) || e.sub === '' : e.sub === sub))
  }

  posted(sub?: string): number {
    return sum(this.#own(sub).map((entry) => entry.delta))
  }

  credited(sub?: string): number {
    return sum(this.#own(sub).map((entry) => entry.credited ?? 0))
  }

  held(sub?: string): number {
    return sum(this.live().map((hold) => (sub === undefined || hold.sub === sub ? hold.amount : 0)))
  }

  /** In order of expiry. */
  live(): ModelHold[] {
    return this.holds.filter(({ state }) => state === 'live').sort(byEnd)
  }

  open({ epoch }: Open): OpenReply {
    if (epoch < this.epoch) return 'FENCED'
    if (this.epoch > 0) return 'DUP'
    this.epoch = epoch
    return 'OK'
  }

  topup(command: Topup, now: number): TopupReply['reply'] {
    const { id, sub = '', amount, epoch } = command
    if (epoch < this.epoch) return 'FENCED'
    const known = this.credits.find((credit) => credit.id === id)
    if (known) return known.amount === amount && (known.sub ?? '') === sub ? 'DUP' : 'CONFLICT'
    if (!this.#fits(command.sub, amount, amount)) return 'LIMIT'
    this.epoch = epoch
    this.credits.push(command)
    this.#append({ kind: 'credit', ref: id, sub, delta: amount, credited: amount }, now)
    if (amount < 0) this.#uncover(sub, -amount)
    return 'OK'
  }

  adjust({ id, epoch, changes, ifEntries }: Adjust, now: number): AdjustReply {
    if (epoch < this.epoch) return 'FENCED'
    if (this.corrections.has(id)) return 'DUP'
    if (ifEntries !== undefined && ifEntries !== this.entries.length) return 'CHANGED'
    if (!changes.every(({ sub, credited, spent }) => this.#fits(sub, credited - spent, credited)))
      return 'LIMIT'
    this.epoch = epoch
    this.corrections.add(id)
    for (const { sub = '', credited, spent } of changes) {
      const delta = credited - spent
      this.#append({ kind: 'adjust', ref: id, sub, delta, credited }, now)
      if (delta < 0) this.#uncover(sub, -delta)
    }
    return 'OK'
  }

  reserve(command: Reserve, now: number): ReserveReply {
    this.#expire(now, 20)
    const { id, sub, amount, seen } = command
    const known = this.#known(id, now, MINUTE)
    if (known?.state === 'live') {
      if (known.sub !== sub || (known.requested ?? amount) !== amount) return { reply: 'CONFLICT' }
      return { reply: 'DUP', reservedAt: known.reservedAt, ...this.#left(command, now) }
    }
    if (known) return { reply: 'OVER' }
    const { meters = [], budgets = [] } = command
    const refusal = this.#refusal(command, amount, now) ?? this.#limited(meters, now)
    if (refusal) return refusal
    for (const meter of meters) if (meter.windowMs > 0) this.#meters.raise(meter, meter.takes, now)
    if (!command.enforced) this.#spend(sub, amount)
    this.#hold(
      {
        id,
        sub,
        requested: amount,
        amount,
        seen,
        paid: undefined,
        reservedAt: now,
        ...countersOf(meters, budgets),
      },
      now + command.leaseMs,
      now,
    )
    return { reply: 'OK', reservedAt: now, ...this.#left(command, now) }
  }

  renew(command: Renewal, now: number): RenewReply {
    const { id, sub, amount, seen, reservedAt, leaseMs } = command
    const hold = this.#known(id, now, Number.POSITIVE_INFINITY)
    if (hold?.state === 'gone') return 'GONE'
    if (hold?.state !== 'live') {
      const paid = hold?.paid
      const of = hold === undefined ? sub : hold.sub
      const terms = {
        id,
        sub: of,
        requested: undefined,
        amount,
        seen: Math.max(seen, paid ?? 0),
        paid,
        reservedAt,
        ...countersOf(command.meters, command.budgets),
      }
      if (hold) this.holds.splice(this.holds.indexOf(hold), 1)
      // Taken whatever the funds.
      this.#spend(of, amount)
      this.#hold(terms, now + leaseMs, now)
      return 'AGAIN'
    }
    hold.seen = Math.max(hold.seen, seen)
    hold.leaseEnd = Math.max(hold.leaseEnd, now + leaseMs)
    const extra = Math.max(0, amount - hold.amount)
    if (extra === 0) return 'OK'
    if (this.#refusal({ ...command, sub: hold.sub }, extra, now)) return 'NOFUNDS'
    if (!command.enforced) this.#spend(hold.sub, extra)
    hold.amount += extra
    this.#use(this.#knownBudgets(hold.budgets, idsOf(command.budgets)), now)
    return 'OK'
  }

  settle(command: Settle, now: number): SettleReply['reply'] {
    const { id, sub, actual, reservedAt } = command
    const named = idsOf(command.budgets)
    const hold = this.#known(id, now, Number.POSITIVE_INFINITY)
    if (hold === undefined) {
      if (now - reservedAt > KEEP) {
        // Too old to be remembered: the entries decide, if all since then are still there.
        if (this.#trimmedTo !== undefined && compareIds(this.#trimmedTo, [reservedAt, 0]) > 0) return 'STALE'
        const own = this.kept().filter(({ ref, at: [ms] }) => ref === id && ms >= reservedAt)
        if (own.length > 0) return sum(own.map((entry) => -entry.delta)) === actual ? 'DUP' : 'CONFLICT'
      }
      this.#post('lost', { id, sub, amount: actual, covered: 0, budgets: named, named }, now)
      this.holds.push({ ...LOST, id, sub, actual, reservedAt, endedAt: now })
      return 'LOST'
    }
    if (hold.sub !== sub) return 'CONFLICT'
    if (hold.state === 'gone') return hold.actual === actual ? 'DUP' : 'CONFLICT'
    const kind = hold.paid === undefined ? 'settle' : 'late'
    const covered = hold.state === 'live' ? hold.amount : 0
    const budgets = hold.state === 'live' ? hold.budgets : named
    for (const { by, ...meter } of command.corrections ?? []) this.#meters.raise(meter, by, now)
    Object.assign(hold, { state: 'gone', actual, endedAt: now })
    this.#post(kind, { id, sub, amount: actual - (hold.paid ?? 0), covered, budgets, named }, now)
    return kind === 'late' ? 'LATE' : 'OK'
  }

  reap(max: number, now: number): Reaped[] {
    const reaped = this.#expire(now, max)
    const over = this.holds.filter(({ state, endedAt }) => state === 'expired' && endedAt + DAY <= now)
    over.sort((a, b) => a.endedAt - b.endedAt || (a.id < b.id ? -1 : 1))
    for (const hold of over.slice(0, max)) this.holds.splice(this.holds.indexOf(hold), 1)
    return reaped
  }

  /** Entries are removed in order: those before the mark and the age, whichever is earlier. */
  trim(upTo: string | undefined, keepMs: number, now: number): undefined {
    const mark = upTo === undefined ? undefined : idOf(upTo)
    if (mark !== undefined) this.#journaled = laterOf(this.#journaled, mark)
    const oldest: EntryId = [Math.max(0, now - keepMs), 0]
    const before = mark !== undefined && compareIds(mark, oldest) < 0 ? mark : oldest
    const removed = this.#ids.filter((id) => compareIds(id, before) < 0).length
    if (removed > this.#removed) this.#trimmedTo = laterOf(this.#trimmedTo, before)
    this.#removed = Math.max(this.#removed, removed)
    for (const [budget, period] of this.#usedIn)
      if (this.heldIn(budget) === 0 && periodOf(now) >= period + 2) this.#usedIn.delete(budget)
  }

  /** Only a command that names a forgotten budget says when it renews; without it, nothing is charged there. */
  #knownBudgets(budgets: readonly string[], named: readonly string[]): string[] {
    return budgets.filter((budget) => this.#usedIn.has(budget) || named.includes(budget))
  }

  #use(budgets: readonly string[], now: number): void {
    for (const budget of budgets) this.#usedIn.set(budget, periodOf(now))
  }

  /** The entries that are not removed. */
  kept(): (Entry & { at: EntryId })[] {
    return this.entries.map((entry, i) => ({ ...entry, at: this.#ids[i] as EntryId })).slice(this.#removed)
  }

  /** What a balance says of the entries. */
  marks() {
    return {
      lastEntry: textOf(this.#ids.at(-1)),
      journaled: textOf(this.#journaled),
      trimmedTo: textOf(this.#trimmedTo),
    }
  }

  /** The ids of the entries that are not removed. */
  entryIds(): string[] {
    return this.#ids.slice(this.#removed).map((id) => id.join('-'))
  }

  #append(entry: Entry, now: number): void {
    const [ms, n] = this.#ids.at(-1) ?? [0, 0]
    this.#ids.push(now > ms ? [now, 0] : [ms, n + 1])
    this.entries.push(entry)
  }

  #hold(
    terms: Omit<ModelHold, 'state' | 'actual' | 'leaseEnd' | 'endedAt'>,
    leaseEnd: number,
    now: number,
  ): void {
    this.holds.push({ ...terms, state: 'live', actual: undefined, leaseEnd, endedAt: 0 })
    this.#use(terms.budgets, now)
  }

  /** The hold of this id that is remembered; `lookBack`: how far into the quarter of an hour before this one. */
  #known(id: string, now: number, lookBack: number): ModelHold | undefined {
    const quarter = Math.floor(now / KEEP)
    return this.holds.findLast((hold) => {
      if (hold.id !== id) return false
      if (hold.state !== 'gone') return true
      const ended = Math.floor(hold.endedAt / KEEP)
      return ended === quarter || (ended === quarter - 1 && now - quarter * KEEP < lookBack)
    })
  }

  #expire(now: number, max: number): Reaped[] {
    const due = this.live()
      .filter(({ leaseEnd }) => leaseEnd <= now)
      .slice(0, max)
    return due.map((hold) => {
      const { id, sub, seen, amount, budgets, paid = 0 } = hold
      this.#post('expire', { id, sub, amount: seen - paid, covered: amount, budgets }, now)
      Object.assign(hold, { state: 'expired', paid: seen, endedAt: now })
      return { account: this.id, id, charged: seen - paid }
    })
  }

  #post(
    kind: Entry['kind'],
    {
      id,
      sub,
      amount,
      covered,
      budgets,
      named = [],
    }: {
      id: string
      sub: string | undefined
      amount: number
      covered: number
      budgets: string[]
      named?: string[]
    },
    now: number,
  ): void {
    // A refund to a balance that is already at its maximum.
    const room = Number.MAX_SAFE_INTEGER - Math.max(this.posted(), sub === undefined ? 0 : this.posted(sub))
    const delta = Math.min(0 - amount, room)
    this.#append({ kind, ref: id, sub: sub ?? '', delta }, now)
    const period = periodOf(now)
    const known = this.#knownBudgets(budgets, named)
    for (const budget of known) this.#charges.push({ budget, amount: 0 - delta, period })
    this.#use(known, now)
    this.#spend(sub, Math.max(0, amount - covered))
  }

  /** Spending lowers both the account and the sub-account. */
  #spend(sub: string | undefined, uncovered: number): void {
    this.#uncover('', uncovered)
    if (sub !== undefined) this.#uncover(sub, uncovered)
  }

  #uncover(sub: string, amount: number): void {
    this.uncovered.set(sub, (this.uncovered.get(sub) ?? 0) + amount)
  }

  #fits(sub: string | undefined, posted: number, credited: number): boolean {
    return (
      Number.isSafeInteger(this.posted(sub) + posted) && Number.isSafeInteger(this.credited(sub) + credited)
    )
  }

  /** Spent in the period of `now`. What is taken back from a period lowers it to nothing, not below. */
  spent(budget: string, now: number): number {
    return this.#charges
      .filter((charge) => charge.budget === budget && charge.period === periodOf(now))
      .reduce((sum, charge) => Math.max(0, sum + charge.amount), 0)
  }

  heldIn(budget: string): number {
    return sum(this.live().map((hold) => (hold.budgets.includes(budget) ? hold.amount : 0)))
  }

  #running(id: string): number {
    return this.live().filter(({ running }) => running.includes(id)).length
  }

  #room(meters: readonly Meter[], now: number): number[] {
    return meters.map((meter) => {
      const { id, most, windowMs } = meter
      if (windowMs === 0) return Math.max(0, most - this.#running(id))
      return Math.max(0, Math.floor((most * windowMs - this.#meters.level(meter, now)) / windowMs))
    })
  }

  #limited(meters: readonly Meter[], now: number): ReserveReply | undefined {
    const waits = meters.map((meter) => {
      const { id, most, windowMs, takes } = meter
      if (windowMs === 0) return this.#running(id) < most ? -1 : 1_000
      const over = this.#meters.level(meter, now) + (Math.min(takes, most) - most) * windowMs
      return over <= 0 ? -1 : Math.ceil(over / most)
    })
    const waitMs = Math.max(...waits, -1)
    if (waitMs < 0) return undefined
    return { reply: 'LIMITED', meter: waits.indexOf(waitMs), waitMs, room: this.#room(meters, now) }
  }

  #left({ sub, meters = [], budgets = [], ...command }: Reserve, now: number) {
    const { enforced, overdraft, subOverdraft = 0 } = command
    const own = enforced ? this.posted() - this.held() + overdraft : Number.MAX_SAFE_INTEGER
    const ofSub =
      enforced && sub !== undefined
        ? this.posted(sub) - this.held(sub) + subOverdraft
        : Number.MAX_SAFE_INTEGER
    const spent = budgets.map(({ id }) => this.spent(id, now))
    const free = budgets.map(({ id, most }, i) => most - (spent[i] ?? 0) - this.heldIn(id))
    return {
      free: Math.min(own, ofSub, ...free),
      posted: this.posted(),
      ...(sub !== undefined && { subPosted: this.posted(sub) }),
      spent,
      room: this.#room(meters, now),
    }
  }

  #refusal(
    command: Pick<Reserve, 'sub' | 'overdraft' | 'subOverdraft' | 'enforced' | 'budgets'>,
    amount: number,
    now: number,
  ): ReserveReply | undefined {
    const { sub, overdraft, subOverdraft = 0, enforced, budgets = [] } = command
    const posted = enforced ? this.posted() + overdraft : Number.POSITIVE_INFINITY
    const subPosted =
      enforced && sub !== undefined ? this.posted(sub) + subOverdraft : Number.POSITIVE_INFINITY
    if (posted <= 0) return { reply: 'NOFUNDS', of: 'account', reason: 'empty' }
    if (subPosted <= 0) return { reply: 'NOFUNDS', of: 'sub', reason: 'empty' }
    const left = budgets.map(({ id, most }) => most - this.spent(id, now))
    const used = left.findIndex((amount) => amount <= 0)
    if (used >= 0) return { reply: 'NOFUNDS', of: 'budget', budget: used, reason: 'empty' }
    if (posted - this.held() < amount) return { reply: 'NOFUNDS', of: 'account', reason: 'hold' }
    if (subPosted - this.held(sub) < amount) return { reply: 'NOFUNDS', of: 'sub', reason: 'hold' }
    const short = left.findIndex((free, i) => free - this.heldIn(budgets[i]?.id ?? '') < amount)
    if (short >= 0) return { reply: 'NOFUNDS', of: 'budget', budget: short, reason: 'hold' }
    return undefined
  }
}

const periodOf = (now: number) => Math.floor(now / PERIOD_MS)

const idsOf = (budgets: Settle['budgets'] = []) => budgets.map(({ id }) => id)

const countersOf = (meters: readonly Meter[] = [], budgets: readonly Budget[] = []) => ({
  running: meters.filter(({ windowMs }) => windowMs === 0).map(({ id }) => id),
  budgets: idsOf(budgets),
})

const LOST = {
  state: 'gone' as const,
  requested: undefined,
  amount: 0,
  seen: 0,
  paid: undefined,
  leaseEnd: 0,
  running: [],
  budgets: [],
} satisfies Partial<ModelHold>

/** Several accounts; a call goes to one of them. */
export class LedgerModel {
  readonly accounts: ReadonlyMap<string, ModelAccount>

  constructor(accounts: readonly string[]) {
    this.accounts = new Map(accounts.map((id) => [id, new ModelAccount(id)]))
  }

  /** The reply, as `comparable` shows that of a store. */
  perform(call: Call, now: number): unknown {
    const account = this.accounts.get('command' in call ? call.command.account : call.account)
    switch (call.type) {
      case 'open':
        return account?.open(call.command) ?? 'NOACCT'
      case 'topup':
        return account?.topup(call.command, now) ?? 'NOACCT'
      case 'adjust':
        return account?.adjust(call.command, now) ?? 'NOACCT'
      case 'reserve':
        return account?.reserve(call.command, now) ?? { reply: 'NOACCT' }
      case 'renew':
        return call.renewals.map((renewal) => account?.renew(renewal, now) ?? 'NOACCT')
      case 'settle':
        return account?.settle(call.command, now) ?? 'NOACCT'
      case 'reap':
        return account?.reap(call.max, now) ?? []
      case 'trim':
        return account?.trim(call.upTo, call.keepMs, now)
    }
  }
}

/** A reply without the id of its entry. */
export function comparable(call: Call, reply: Reply): unknown {
  if (call.type === 'topup' || call.type === 'settle') return (reply as TopupReply | SettleReply).reply
  return reply
}

export const sum = (numbers: readonly number[]) => numbers.reduce((total, n) => total + n, 0)
