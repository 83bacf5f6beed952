/** What the holder of a key sees of its money, limits and usage. Amounts are dollars as decimal text. */
import { unmeteredId } from '../../../contract/ids.ts'
import { formatDollars } from '../../../contract/money.ts'
import { present } from '../../../kit/present.ts'
import { spentIn } from '../../../store/ledger/budgets.ts'
import type { Balance, Ledger, UsageCounts } from '../../../store/ledger/contract.ts'
import { levelAt, roomAt } from '../../../store/ledger/meters.ts'
import { addCounts, countedBy, DAY_MS } from '../../../store/ledger/usage.ts'
import type { Caller } from '../../auth/authenticate.ts'
import { GatewayError } from '../../errors.ts'
import { type AppliedBudget, budgetsOfCaller } from '../../ledger/budgets.ts'
import { fundsOf, payerOf } from '../../ledger/funds.ts'
import { type Limit, limitsOfCaller } from '../../ledger/limits.ts'

type UsageLedger = Pick<Ledger, 'balance' | 'usage' | 'entries'>

/** Days of an answer, at most. */
const MOST_DAYS = 92
const DEFAULT_DAYS = 30
const PAGE = 1_000

/** Days since 1970-01-01 (UTC), both included. */
export interface DaySpan {
  from: number
  to: number
}

/** Reads `since` and `until`; the last 30 days without them, and the last 92 of more. Throws GatewayError invalid_request. */
export function daySpan(query: URLSearchParams, nowMs: number): DaySpan {
  const today = Math.floor(nowMs / DAY_MS)
  const to = dayOf(query, 'until') ?? today
  const from = dayOf(query, 'since') ?? to - DEFAULT_DAYS + 1
  return { from: Math.max(from, to - MOST_DAYS + 1), to }
}

function dayOf(query: URLSearchParams, name: string): number | undefined {
  const text = query.get(name)
  if (text === null) return undefined
  const at = /^\d{4}-\d{2}-\d{2}$/.test(text) ? Date.parse(text) : Number.NaN
  if (Number.isNaN(at))
    throw new GatewayError('invalid_request', `${name} must be a day such as 2026-12-31.`, { param: name })
  return Math.floor(at / DAY_MS)
}

interface Question {
  caller: Caller
  span: DaySpan
  /** Models that the key may use, as clients name them. */
  models: readonly string[]
  /** The name for clients of a ModelRoute. */
  modelOf: (route: string) => string
  nowMs: number
}

/** Rejects with StoreUnavailable. */
export async function ownUsage(ledger: UsageLedger, question: Question): Promise<object> {
  const { caller, span, models, nowMs } = question
  const { key, account } = caller
  const budgets = budgetsOfCaller(caller, nowMs)
  const limits = limitsOfCaller(caller)
  const payer = account && payerOf(account)
  const balance =
    payer &&
    (await ledger.balance(payer.account, {
      subs: payer.sub === undefined ? [] : [payer.sub],
      budgets: budgets.map(({ budget }) => budget.id),
      meters: limits.map(({ meter }) => meter),
    }))
  return {
    object: 'usage',
    key: key.name,
    ...present({
      expires_at: key.expiresAt === undefined ? undefined : new Date(key.expiresAt).toISOString(),
    }),
    ...(account !== undefined && account.ofKey !== true && { account: account.name }),
    ...(account !== undefined && balance !== undefined && fundsShown(caller, balance)),
    budgets: budgets.map((one) => budgetShown(one, balance, nowMs)),
    limits: limitsShown(limits, balance, nowMs),
    models,
    since: dateOf(span.from),
    until: dateOf(span.to),
    days: await daysOf(ledger, question, payer?.account),
  }
}

/** Nothing of an allowance that is a budget, and nothing of an account that bounds nothing. */
function fundsShown({ account }: Caller, balance: Balance): object {
  if (account === undefined || account.ofKey === true || account.byBudget === true) return {}
  const own = fundsOf(account, balance).at(-1)
  if (own === undefined) return {}
  return { balance: formatDollars(own.posted), held: formatDollars(own.held) }
}

function budgetShown(
  { whose, record, budget }: AppliedBudget,
  balance: Balance | undefined,
  nowMs: number,
): object {
  const spent = spentIn(balance?.budgets[budget.id], nowMs)
  return {
    of: whose,
    ...present({ model: record.model }),
    amount: formatDollars(budget.most),
    spent: formatDollars(spent),
    left: formatDollars(Math.max(0, budget.most - spent)),
    period: record.period.toLowerCase(),
    renews_at: new Date(budget.periods[1]).toISOString(),
  }
}

function limitsShown(limits: readonly Limit[], balance: Balance | undefined, nowMs: number): object[] {
  return limits.map(({ whose, kind, model, meter }) => ({
    of: whose,
    kind,
    ...present({ model }),
    limit: meter.most,
    ...(meter.windowMs > 0 && { window_seconds: meter.windowMs / 1_000 }),
    left: roomAt(levelAt(balance?.levels[meter.id], meter, nowMs), meter),
  }))
}

/** What is counted, and what the leader has not counted yet. */
async function daysOf(
  ledger: UsageLedger,
  { caller: { key }, span, modelOf }: Question,
  account: string | undefined,
): Promise<object[]> {
  const days = new Map<string, { date: string; model: string; counts: UsageCounts }>()
  const add = (day: number, route: string, counts: UsageCounts) => {
    if (day < span.from || day > span.to) return
    const model = modelOf(route)
    const name = `${day}|${model}`
    const known = days.get(name) ?? { date: dateOf(day), model, counts: {} }
    days.set(name, known)
    addCounts(known.counts, counts)
  }
  for (const place of [unmeteredId(key.namespace), ...(account === undefined ? [] : [account])])
    for await (const rows of ledger.usage(place, { ...span, key: key.id }))
      for (const { day, model, counts } of rows) add(day, model, counts)
  if (account !== undefined)
    for (const row of countedBy(await uncounted(ledger, account)))
      if ('key' in row && row.key === key.id && row.day !== undefined) add(row.day, row.model, row.counts)
  return [...days.values()]
    .sort((a, b) => (`${a.date}|${a.model}` < `${b.date}|${b.model}` ? -1 : 1))
    .map(({ date, model, counts }) => ({ date, model, ...countsShown(counts) }))
}

async function uncounted(ledger: UsageLedger, account: string) {
  const balance = await ledger.balance(account)
  if (balance === undefined) return []
  const all = []
  let after = balance.countedTo
  for (;;) {
    const page = await ledger.entries(account, after, PAGE)
    all.push(...page)
    if (page.length < PAGE) return all
    after = page.at(-1)?.id
  }
}

function countsShown({
  requests = 0,
  errors = 0,
  cost = 0,
  upstreamCost: _,
  ...tokens
}: UsageCounts): object {
  const kinds = Object.entries(tokens).map(([kind, count]) => [
    kind.replace(/[A-Z]/g, (l) => `_${l.toLowerCase()}`),
    count,
  ])
  return { requests, errors, cost: formatDollars(cost), tokens: Object.fromEntries(kinds) }
}

const dateOf = (day: number) => new Date(day * DAY_MS).toISOString().slice(0, 10)
