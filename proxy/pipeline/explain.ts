/**
 * Explains what would happen to a request without sending it: the error that refuses it, or the channels in the order in
 * which they would be tried. The stages are those of serve.ts; nothing is called, held or counted.
 */
import { formatDollars, type Nanos } from '../../contract/money.ts'
import type { AccountRecord, RouteRecord } from '../../contract/table/records.ts'
import type { Soon } from '../../kit/soon.ts'
import { RecordUnreadable, StoreUnavailable } from '../../store/contract.ts'
import { spentIn } from '../../store/ledger/budgets.ts'
import type { Balance, Ledger } from '../../store/ledger/contract.ts'
import { isInForce } from '../auth/authenticate.ts'
import { ENDPOINTS, type Endpoint } from '../dialects/index.ts'
import { CATALOGUE, type ErrorCode } from '../errors.ts'
import { type AppliedBudget, budgetsOf, isMetered } from '../ledger/budgets.ts'
import { fundsOf, payerOf } from '../ledger/funds.ts'
import type { TableFollower } from '../table/follower.ts'
import { modelAllowed } from '../table/routing.ts'
import { type Candidate, contenders } from '../upstream/choose.ts'
import type { ChannelHealth } from '../upstream/health.ts'
import { amountToHold } from './billing/charge.ts'
import { outputTokensHeld } from './billing/output-limit.ts'
import { notEligible, planRoute, servingFor, targetModel } from './route.ts'

export interface Question {
  /** SHA-256 of the key. */
  keyHash: string
  model: string
  /** Name of an endpoint: a key of ENDPOINTS. */
  endpoint: string
  /** Prompt tokens to hold for. */
  inputTokens: number
  /** The caller's own limit on output tokens. */
  maxOutputTokens?: number | undefined
}

interface Explanation {
  /** The newest publication in force, as /status shows it. */
  generation: number
  /** Absent: the request would be sent upstream. */
  refusal?: Refusal
  key?: { namespace: string; name: string; preview: string }
  account?: string
  /** Name of the ModelRoute. */
  route?: string
  /** In the order of attempts; those that cannot serve come last. */
  candidates: ExplainedCandidate[]
  /** Absent if nothing is metered or no route is known. */
  hold?: { amount: string; inputTokens: number; outputTokens: number }
  /** Absent for a key without account. */
  funds?: { available: string; balance: string; held: string; overdraft: string; enforced: boolean }
  /** Refusals that depend on the state of the proxy. */
  notes: string[]
}

interface Refusal {
  /** The HTTP status that the client would get. */
  status: number
  code: ErrorCode
  /** For the operator. */
  reason: string
}

interface ExplainedCandidate {
  channel: string
  type: string
  /** The upstream model name. */
  model: string
  priority: number
  weight: number
  /** Chance of being the first that is tried, in percent. */
  share: number
  lane?: 'byte' | 'hub'
  state: 'ready' | 'resting' | 'full' | 'not_eligible'
  /** Milliseconds until its ejection ends. */
  restsForMs?: number
  /** Why it is not eligible. */
  reason?: string
}

/** The state of the proxy that decides. */
export interface Known {
  follower: Pick<TableFollower, 'table' | 'applied' | 'key' | 'account'>
  health: Pick<ChannelHealth, 'ejectedUntil' | 'isFull'>
}

/** `nowMs` is milliseconds since the epoch. */
export async function explain(
  gateway: Known,
  ledger: Pick<Ledger, 'balance'>,
  question: Question,
  nowMs: number,
): Promise<Explanation> {
  const { table, applied } = gateway.follower
  const explanation: Explanation = { generation: applied.generation, candidates: [], notes: [] }
  // The client would get the first one.
  const refuse = (code: ErrorCode, reason: string) => {
    explanation.refusal ??= { status: CATALOGUE[code].status, code, reason }
    return explanation
  }

  const endpoint = endpointOf(question.endpoint)
  if (endpoint === undefined) return refuse('not_found', `no endpoint ${question.endpoint} is served`)
  const key = await known(gateway.follower.key(question.keyHash))
  if (key === 'unknown') return refuse('store_unavailable', 'the store cannot say whether the key is valid')
  if (key === undefined) return refuse('unauthorized', 'the proxy knows no such key')
  const { namespace, name, preview } = key
  explanation.key = { namespace, name, preview }
  if (!isInForce(key, nowMs))
    refuse('unauthorized', key.disabled ? 'the key is disabled' : 'the key has expired')
  if (key.allowedIPs.length > 0) explanation.notes.push(addressNote(key.allowedIPs))

  const account = key.account === undefined ? undefined : await known(gateway.follower.account(key.account))
  if (account === 'unknown') return refuse('store_unavailable', 'the store cannot say who pays for the key')
  if (key.account !== undefined && account === undefined)
    return refuse('store_unavailable', 'the account of the key does not exist or is not in force')
  if (account !== undefined) explanation.account = account.name
  if (account?.disabled) refuse('account_disabled', `the account ${account.name} is disabled`)
  if (!modelAllowed(key.models, question.model))
    refuse('model_not_allowed', 'spec.models of the key does not name this model')

  const caller = { hash: question.keyHash, key, account }
  const plan = planRoute(table, caller, question.model, endpoint)
  const upstreamModel = table.match(namespace, question.model)?.upstreamModel ?? question.model
  if (plan.route !== undefined) {
    explanation.route = plan.route.name
    explanation.candidates = candidatesOf(gateway, namespace, plan.route, { upstreamModel, endpoint })
  }

  const budgets = budgetsOf(caller, question.model, nowMs)
  const metered = isMetered(caller, question.model)
  const balance = account === undefined ? undefined : await known(balanceOf(ledger, account, budgets))
  const shortfall =
    account === undefined ? undefined : fund(explanation, { account, budgets, nowMs }, balance)
  // Without a route, only a caller that pays is checked for funds: others have nothing to hold yet.
  if (shortfall !== undefined && (metered || !('none' in plan))) refuse(shortfall.code, shortfall.reason)
  if ('none' in plan) return refuse('upstream_error', NO_ROUTE[plan.none])

  const outputTokens = outputTokensHeld(plan.route, question.maxOutputTokens)
  if (account !== undefined) {
    const { inputTokens } = question
    const amount = amountToHold(metered, plan.route, { inputTokens, outputTokens })
    explanation.hold = { amount: formatDollars(amount), inputTokens, outputTokens }
    if (typeof balance === 'object' && available({ account, budgets, nowMs }, balance) < amount)
      refuse('insufficient_balance', 'the funds do not cover what would be held')
  }
  if (!explanation.candidates.some(({ state }) => state === 'ready' || state === 'resting'))
    refuse('upstream_error', 'all channels are at capacity')
  return explanation
}

const NO_ROUTE = {
  no_route: 'no ModelRoute of the namespace has this model',
  unpriced: 'the route has no price, and the key has an enforced account or a budget',
  no_eligible_channel: 'no channel of the route can serve this endpoint',
}

function endpointOf(name: string): Endpoint | undefined {
  const endpoints: ReadonlyMap<string, Endpoint> = new Map(Object.entries(ENDPOINTS))
  return endpoints.get(name)
}

/** The record, or 'unknown' while the store cannot be read. */
async function known<R>(record: Soon<R>): Promise<R | 'unknown'> {
  try {
    return await record
  } catch (error) {
    if (error instanceof StoreUnavailable || error instanceof RecordUnreadable) return 'unknown'
    throw error
  }
}

function addressNote(allowed: readonly string[]): string {
  return `requests from other addresses than ${allowed.join(', ')} are answered 403 ip_not_allowed`
}

function balanceOf(
  ledger: Pick<Ledger, 'balance'>,
  account: AccountRecord,
  budgets: readonly AppliedBudget[],
): Promise<Balance | undefined> {
  const { account: id, sub } = payerOf(account)
  return ledger.balance(id, {
    subs: sub === undefined ? [] : [sub],
    budgets: budgets.map(({ budget }) => budget.id),
  })
}

/** Who pays for the request. */
interface Payer {
  account: AccountRecord
  budgets: readonly AppliedBudget[]
  nowMs: number
}

/** Nano-dollars that a hold may still take. */
function available({ account, budgets, nowMs }: Payer, balance: Balance): Nanos {
  const funds = account.enforced ? fundsOf(account, balance) : []
  const free = funds.map(({ posted, held, overdraft }) => posted - held + overdraft)
  const left = budgets.map(({ budget: { id, most } }) => {
    const sums = balance.budgets[id]
    return most - spentIn(sums, nowMs) - (sums?.held ?? 0)
  })
  return Math.min(...free, ...left, Number.MAX_SAFE_INTEGER)
}

/** Adds the funds to the explanation. Returns the refusal if they are empty or unknown. */
function fund(
  explanation: Explanation,
  payer: Payer,
  balance: Balance | undefined | 'unknown',
): { code: ErrorCode; reason: string } | undefined {
  if (balance === 'unknown') return { code: 'store_unavailable', reason: 'the ledger does not answer' }
  if (balance === undefined)
    return { code: 'store_unavailable', reason: 'the ledger does not know the account' }
  const { account, budgets, nowMs } = payer
  const funds = fundsOf(account, balance)
  const own = funds.at(-1)
  const free = available(payer, balance)
  explanation.funds = {
    available: free === Number.MAX_SAFE_INTEGER ? 'unlimited' : formatDollars(free),
    balance: formatDollars(own?.posted ?? 0),
    held: formatDollars(own?.held ?? 0),
    overdraft: formatDollars(account.overdraft),
    enforced: account.enforced,
  }
  const empty = account.enforced ? funds.find(({ posted, overdraft }) => posted + overdraft <= 0) : undefined
  const spent = budgets.find(({ budget: { id, most } }) => spentIn(balance.budgets[id], nowMs) >= most)
  if (empty === undefined && spent !== undefined)
    return { code: 'insufficient_balance', reason: `the budget ${nameOf(spent)} is used up` }
  if (empty === undefined) return undefined
  const whose = account.parent === undefined || empty.of === 'sub' ? 'the account' : 'its parent account'
  return { code: 'insufficient_balance', reason: `the balance of ${whose} is used up` }
}

const WHOSE = { key: 'of the key', account: 'of the account', parent: 'of the parent account' }

function nameOf({ whose, record: { period, model } }: AppliedBudget): string {
  const name = `${WHOSE[whose]} for the ${period.toLowerCase()}`
  return model === undefined ? name : `${name} and the model ${model}`
}

/** The channels of a route: first those that can serve, in the order of attempts, then those that cannot. */
function candidatesOf(
  { follower, health }: Known,
  namespace: string,
  route: RouteRecord,
  { upstreamModel, endpoint }: { upstreamModel: string; endpoint: Endpoint },
): ExplainedCandidate[] {
  const eligible: Judged[] = []
  const others: ExplainedCandidate[] = []
  for (const target of route.targets) {
    const channel = follower.table.channel(namespace, target.channel)
    if (channel === undefined) continue
    const { channel: name, priority, weight } = target
    const model = targetModel(target, upstreamModel)
    const facts = { channel: name, type: channel.type, model, priority, weight }
    const reason = notEligible(route, target, channel, endpoint)
    const lane = servingFor(route, target, channel, endpoint) === 'byte' ? 'byte' : 'hub'
    if (reason !== undefined) {
      others.push({ ...facts, share: 0, state: 'not_eligible', reason })
      continue
    }
    const key = `${namespace}/${name}`
    const ejectedUntil = health.ejectedUntil(key, facts.model)
    const full = health.isFull(key, channel.maxConcurrentRequests)
    eligible.push({ facts, lane, target, ejectedUntil, full, tried: 0 })
  }
  return [...byTurn(eligible), ...others]
}

interface Judged extends Candidate {
  facts: Pick<ExplainedCandidate, 'channel' | 'type' | 'model' | 'priority' | 'weight'>
  lane: 'byte' | 'hub'
}

function byTurn(eligible: readonly Judged[]): ExplainedCandidate[] {
  const ordered: ExplainedCandidate[] = []
  let left = [...eligible]
  for (let group = contenders(left); group.length > 0; group = contenders(left)) {
    const first = ordered.length === 0
    const sum = group.reduce((total, { target }) => total + target.weight, 0)
    for (const judged of group.toSorted((a, b) => b.target.weight - a.target.weight))
      ordered.push(shown(judged, first ? Math.round((judged.target.weight / sum) * 1_000) / 10 : 0))
    left = left.filter((judged) => !group.includes(judged))
  }
  return [...ordered, ...left.map((judged) => shown(judged, 0))]
}

function shown({ facts, lane, ejectedUntil, full }: Judged, share: number): ExplainedCandidate {
  const restsForMs = Math.max(0, Math.round(ejectedUntil - performance.now()))
  const state = full ? 'full' : ejectedUntil > 0 ? 'resting' : 'ready'
  return { ...facts, share, lane, state, ...(ejectedUntil > 0 && { restsForMs }) }
}
