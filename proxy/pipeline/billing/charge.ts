/** Bills one request: holds funds before it, watches its cost while it streams, and charges it at the end. */
import { cost, type Nanos, unpricedKinds, withImagePrice } from '../../../contract/money.ts'
import type { ImageKind } from '../../../contract/sizes.ts'
import type { RouteRecord } from '../../../contract/table/records.ts'
import { totalInput, type Usage, withoutZeros, zeroUsage } from '../../../contract/usage.ts'
import { after, type Soon } from '../../../kit/soon.ts'
import type { EntryNote, UsageCounts } from '../../../store/ledger/contract.ts'
import type { ParsedRequest, RequestHead } from '../../dialects/core/request.ts'
import { billOf } from '../../ledger/bill.ts'
import { type AppliedBudget, budgetsOf, isMetered } from '../../ledger/budgets.ts'
import {
  type HoldSize,
  holdAmount,
  imageTokens,
  inputEstimate,
  inputUpperBound,
} from '../../ledger/estimate.ts'
import type { Hold } from '../../ledger/hold.ts'
import type { HoldRequest, Holds } from '../../ledger/holds.ts'
import type { LearnedOutputs } from '../../ledger/learned.ts'
import { limitsOf } from '../../ledger/limits.ts'
import type { UnmeteredUsage } from '../../ledger/unmetered.ts'
import type { ProxyMetrics } from '../../telemetry/metrics.ts'
import type { StreamResult } from '../answer/stream-answer.ts'
import type { AdmittedContext } from '../request/context.ts'
import { NO_TAGS } from '../request/tags.ts'
import type { PlannedTarget } from '../route.ts'
import { StreamMeter } from './meter.ts'
import { addedOutputLimit, outputTokensHeld } from './output-limit.ts'

export interface Billing {
  holds: Holds
  /** What earlier answers of each route teach about estimates. */
  learned: LearnedOutputs
  metrics: Pick<ProxyMetrics, 'usageClamped' | 'usageUnpriced' | 'charged'>
  /** Counts requests that no account pays for. */
  unmetered: Pick<UnmeteredUsage, 'add'>
  /** Names that tags may have; empty: any. */
  tagNames: readonly string[]
}

/** A request with its price. */
export interface Order {
  route: RouteRecord
  request: ParsedRequest
  /** Images that the answer may have. */
  images?: number
}

/** The known facts about the cost of an answer. */
export interface Charged extends Pick<StreamResult, 'usage' | 'tier' | 'delivered' | 'ended'> {
  /** How long a stream took to show output; see LearnedOutputs. */
  thinkingMs?: number
  /** The limit on output tokens that the gateway added. */
  outputLimit?: number | undefined
  target: PlannedTarget
}

/** The money of a request between its hold and its settlement. */
export interface Bill {
  /** Limit on output tokens to send upstream, for each answer; undefined: none. */
  readonly outputLimit: number | undefined
  /** Call when the request goes to a channel. */
  attempting(channel: string): void
  /**
   * Watches the cost of a stream from a channel; `exhausted` is called when the funds are used up. Undefined if the answer is free.
   */
  meter(channel: string, exhausted: () => void): StreamMeter | undefined
  /** What `settle` will charge for this answer; undefined without a price, and where the usage must be estimated. */
  quote(charged: Charged): Nanos | undefined
  /** Charges the answer, or frees the hold if there was no answer, and logs both. */
  settle(charged: Charged | undefined): Soon<unknown>
}

/** Gets what is left, for the headers of the answer. */
type Teller = Pick<HoldRequest, 'onLimits' | 'onWarnings'>

/** Of a client that sets no limit on calls of hosted tools. */
const CALLS_HELD = 4
/** A client may set any limit. */
const MOST_CALLS_HELD = 100
/** A thousand dollars. */
const MAX_UNENFORCED_HOLD = 1_000_000_000_000

/** Holds the most that the request may cost. Throws GatewayError insufficient_balance and store_unavailable. */
export function openBill(
  billing: Billing,
  ctx: AdmittedContext,
  order: Order,
  teller: Teller = {},
): Soon<Bill> {
  const { record, caller, tags } = ctx
  const { head } = order.request
  const route = withImagePriceOf(order.route, head.imageKind)
  const budgets = budgetsOf(caller, head.model, billing.holds.storeNow)
  const about: EntryNote = {
    reason: 'checkpoint',
    model: route.name,
    channel: '',
    key: caller.key.id,
    endpoint: record.endpoint,
    tier: head.tier ?? '',
    price: route.priceVersion ?? '',
    tokens: {},
    flags: [],
    budgets: budgets.length > 0 ? budgets.map(({ budget }) => budget.id) : undefined,
    tags: tags === NO_TAGS ? undefined : tags,
  }
  const { request, images = 0 } = order
  return after(takeHold(billing, ctx, { route, request, images, about, budgets, teller }), (hold) => {
    record.hold = hold?.amount
    return new RequestBill(billing, ctx, { order, route, about }, hold)
  })
}

/** What a bill is about. */
interface Subject {
  order: Order
  /** With the price of the images that the request asks for. */
  route: RouteRecord
  about: EntryNote
}

class RequestBill implements Bill {
  readonly outputLimit: number | undefined
  readonly #billing: Billing
  readonly #ctx: AdmittedContext
  readonly #subject: Subject
  readonly #hold: Hold | undefined
  /** The route of a namespace, as LearnedOutputs names it. */
  readonly #routeKey: string
  /** An answer that was quoted is settled next. */
  #quoted: { charged: Charged; billed: ReturnType<typeof billOf> } | undefined

  constructor(billing: Billing, ctx: AdmittedContext, subject: Subject, hold: Hold | undefined) {
    this.#billing = billing
    this.#ctx = ctx
    this.#subject = subject
    this.#hold = hold
    const { order, route } = subject
    const { head } = order.request
    this.#routeKey = `${ctx.caller.key.namespace}/${route.name}`
    const isBounded = hold !== undefined && isMetered(ctx.caller, head.model)
    this.outputLimit = isBounded ? addedOutputLimit(route, head, hold.free) : undefined
  }

  attempting(channel: string): void {
    this.#hold?.via(channel)
  }

  meter(channel: string, exhausted: () => void): StreamMeter | undefined {
    const { order, route, about } = this.#subject
    const { price } = route
    if (this.#hold === undefined || price === undefined) return undefined
    const { input: prompt, tier, maxOutputTokens } = order.request.head
    return new StreamMeter({
      hold: this.#hold,
      price,
      tier,
      prompt,
      learned: this.#billing.learned.of(this.#routeKey),
      capped: maxOutputTokens !== undefined,
      note: { ...about, channel },
      exhausted,
    })
  }

  quote(charged: Charged): Nanos | undefined {
    const isKnown = this.#subject.route.price !== undefined && charged.usage !== undefined
    return isKnown ? this.#billed(charged).actual : undefined
  }

  settle(charged: Charged | undefined): Soon<unknown> {
    if (charged !== undefined) return this.#charge(charged)
    this.#count('', { errors: 1 })
    return this.#hold?.settle(0, { ...this.#subject.about, reason: 'unserved' })
  }

  #charge(charged: Charged): Soon<unknown> {
    const { metrics, learned } = this.#billing
    const { record } = this.#ctx
    const { route, about } = this.#subject
    const hold = this.#hold
    const { key: channel, target } = charged.target
    const { actual, usage, reason, clamped, tier } = this.#billed(charged)
    const unpriced = route.price === undefined ? [] : unpricedKinds(route.price, usage)
    for (const kind of unpriced) metrics.usageUnpriced(route.name, kind)
    const flags: string[] = []
    if (clamped) flags.push('usage_clamped')
    if (unpriced.length > 0) flags.push('unpriced_kind')
    if (clamped) metrics.usageClamped(route.name, channel)
    if (reason === 'usage' && !clamped)
      learned.learn(this.#routeKey, charged.delivered, usage, charged.thinkingMs)
    record.usage = usage
    record.outputLimit = charged.outputLimit
    record.reason = reason
    if (flags.length > 0) record.flags = flags
    metrics.charged(route.name, channel, { cost: actual, usage })
    const upstreamCost = target.cost && cost(target.cost, usage, charged.tier)
    const tokens = withoutZeros(usage)
    if (hold === undefined) {
      this.#count(channel, { ...tokens, cost: actual, ...(upstreamCost !== undefined && { upstreamCost }) })
      return undefined
    }
    record.settled = actual
    record.hold = hold.amount
    const note = { ...about, reason, channel, tier, tokens, flags, upstreamCost }
    return hold.settle(actual, note, totalInput(usage) + usage.output)
  }

  /** Counts a request that no account pays for; the ledger counts all others. */
  #count(channel: string, counts: UsageCounts): void {
    if (this.#hold !== undefined) return
    const { caller, tags } = this.#ctx
    const { namespace, name, id: key } = caller.key
    const place = { key, keyName: `${namespace}/${name}`, model: this.#subject.route.name, channel }
    this.#billing.unmetered.add({ ...place, namespace, tags }, { requests: 1, ...counts })
  }

  #billed(charged: Charged): ReturnType<typeof billOf> {
    if (this.#quoted?.charged === charged) return this.#quoted.billed
    const billed = this.#billAnew(charged)
    this.#quoted = { charged, billed }
    return billed
  }

  #billAnew(charged: Charged): ReturnType<typeof billOf> {
    const { order, route } = this.#subject
    const { head } = order.request
    const { input: prompt, tier, maxOutputTokens, choices } = head
    const limit = maxOutputTokens ?? charged.outputLimit
    const asked = charged.delivered.imageKind
    const { price } = withImagePriceOf(order.route, asked ? { ...head.imageKind, ...asked } : head.imageKind)
    return billOf(price, {
      ...charged,
      usage: withCalls(charged, head),
      prompt,
      learned: this.#billing.learned.of(this.#routeKey),
      requestedTier: tier,
      servedTier: charged.tier,
      bounds: { contextLength: route.contextLength, outputLimit: limit && limit * choices },
    })
  }
}

/** Adds the calls of tools that an upstream of the client's own dialect makes without reporting them. */
function withCalls({ usage, target }: Charged, { hostedTools = [] }: RequestHead): Usage | undefined {
  if (usage === undefined || target.lane !== 'byte' || hostedTools.length === 0) return usage
  const calls = hostedTools.flatMap(({ tool, unreportedCalls }) =>
    unreportedCalls === undefined ? [] : [[tool, unreportedCalls] as const],
  )
  return { ...Object.fromEntries(calls), ...usage }
}

/** Calls of hosted tools to hold for: no upstream bounds their number by itself. */
function callsHeld({ hostedTools }: RequestHead): HoldSize['calls'] {
  if (hostedTools === undefined) return undefined
  return Object.fromEntries(
    hostedTools.map(({ tool, mostCalls, unreportedCalls }) => [
      tool,
      unreportedCalls ?? Math.min(mostCalls ?? CALLS_HELD, MOST_CALLS_HELD),
    ]),
  )
}

function withImagePriceOf(route: RouteRecord, kind: ImageKind = {}): RouteRecord {
  const { price } = route
  return price?.images === undefined ? route : { ...route, price: withImagePrice(price, kind) }
}

/** Undefined for a key that is not metered. */
function takeHold(
  { holds }: Billing,
  { caller: { key, account }, id, time, cancel }: AdmittedContext,
  {
    route,
    request,
    images,
    about,
    budgets,
    teller,
  }: Required<Order> & { about: EntryNote; budgets: AppliedBudget[]; teller: Teller },
): Soon<Hold | undefined> {
  if (account === undefined) return undefined
  const { input, maxOutputTokens, choices, tier, images: requested } = request.head
  const texts = requested === undefined ? outputTokensHeld(route, maxOutputTokens) * choices : 0
  const outputTokens = Math.max(texts, imageTokens(images))
  const calls = callsHeld(request.head)
  const size = { inputTokens: inputUpperBound(input), outputTokens, tier, images, calls }
  const { model } = request.head
  const metered = isMetered({ key, account }, model)
  const amount = amountToHold(metered, route, size)
  const begun = { ...zeroUsage(), input: inputEstimate(input), images }
  const seen = route.price === undefined ? 0 : Math.min(amount, cost(route.price, begun, tier))
  const tokens = size.inputTokens + outputTokens
  const limits = limitsOf({ key, account, model, tokens })
  const note = { ...about, tokens: withoutZeros(begun) }
  const { onLimits, onWarnings } = teller
  const wanted = { id, amount, seen, note, limits, budgets, onLimits, onWarnings, cancel }
  return holds.take(account, wanted, time)
}

/** `metered`: money bounds what the caller may use. */
export function amountToHold(metered: boolean, route: RouteRecord, size: HoldSize): Nanos {
  const bound = route.price === undefined ? 0 : holdAmount(route.price, size)
  // Other accounts are never refused, so their holds are capped: the sum must stay a safe integer.
  return metered ? bound : Math.min(bound, MAX_UNENFORCED_HOLD)
}
