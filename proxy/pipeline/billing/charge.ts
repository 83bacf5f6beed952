/** Bills one request: holds funds before it, watches its cost while it streams, and charges it at the end. */
import { cost, type Nanos, unpricedKinds, withImagePrice } from '../../../contract/money.ts'
import type { ImageKind } from '../../../contract/sizes.ts'
import type { RouteRecord } from '../../../contract/table/records.ts'
import { totalInput, type Usage, withoutZeros, zeroUsage } from '../../../contract/usage.ts'
import { present } from '../../../kit/present.ts'
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
  settle(charged: Charged | undefined): Promise<void>
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
export async function openBill(
  billing: Billing,
  ctx: AdmittedContext,
  order: Order,
  teller: Teller = {},
): Promise<Bill> {
  const { learned } = billing
  const { record, caller } = ctx
  const { request } = order
  const route = withImagePriceOf(order.route, request.head.imageKind)
  const { input: prompt, tier, maxOutputTokens, choices } = request.head
  const routeKey = `${caller.key.namespace}/${route.name}`
  const budgets = budgetsOf(caller, request.head.model, billing.holds.storeNow)
  const about: EntryNote = {
    reason: 'checkpoint',
    model: route.name,
    channel: '',
    key: caller.key.id,
    endpoint: record.endpoint,
    tier: tier ?? '',
    price: route.priceVersion ?? '',
    tokens: {},
    flags: [],
    ...(budgets.length > 0 && { budgets: budgets.map(({ budget }) => budget.id) }),
    ...(Object.keys(ctx.tags).length > 0 && { tags: ctx.tags }),
  }
  const hold = await takeHold(billing, ctx, { ...order, route, about, budgets, teller })
  record.hold = hold?.amount
  const billed = (charged: Charged) => {
    const limit = maxOutputTokens ?? charged.outputLimit
    const { price } = withImagePriceOf(order.route, {
      ...request.head.imageKind,
      ...charged.delivered.imageKind,
    })
    return billOf(price, {
      ...charged,
      usage: withCalls(charged, request.head),
      prompt,
      learned: learned.of(routeKey),
      requestedTier: tier,
      servedTier: charged.tier,
      bounds: { contextLength: route.contextLength, outputLimit: limit && limit * choices },
    })
  }
  const isBounded = hold !== undefined && isMetered(caller, request.head.model)
  return {
    outputLimit: isBounded ? addedOutputLimit(route, request.head, hold.free) : undefined,
    attempting: (channel) => hold?.via(channel),
    meter(channel, exhausted) {
      const { price } = route
      if (hold === undefined || price === undefined) return undefined
      const capped = maxOutputTokens !== undefined
      const note = { ...about, channel }
      return new StreamMeter({
        hold,
        price,
        tier,
        prompt,
        learned: learned.of(routeKey),
        capped,
        note,
        exhausted,
      })
    },
    quote: (charged) =>
      route.price === undefined || charged.usage === undefined ? undefined : billed(charged).actual,
    async settle(charged) {
      const count = (channel: string, counts: UsageCounts) => {
        const { namespace, name, id: key } = caller.key
        const place = { key, keyName: `${namespace}/${name}`, model: route.name, channel }
        if (hold === undefined)
          billing.unmetered.add({ ...place, namespace, tags: ctx.tags }, { requests: 1, ...counts })
      }
      if (charged === undefined) {
        count('', { errors: 1 })
        await hold?.settle(0, { ...about, reason: 'unserved' })
        return
      }
      const { actual, usage, reason, clamped, ...bill } = billed(charged)
      const unpriced = route.price === undefined ? [] : unpricedKinds(route.price, usage)
      for (const kind of unpriced) billing.metrics.usageUnpriced(route.name, kind)
      const flags = [...(clamped ? ['usage_clamped'] : []), ...(unpriced.length > 0 ? ['unpriced_kind'] : [])]
      if (clamped) billing.metrics.usageClamped(route.name, charged.target.key)
      if (reason === 'usage' && !clamped)
        learned.learn(routeKey, charged.delivered, usage, charged.thinkingMs)
      record.usage = usage
      record.outputLimit = charged.outputLimit
      record.reason = reason
      if (flags.length > 0) record.flags = flags
      const { target } = charged
      billing.metrics.charged(route.name, target.key, { cost: actual, usage })
      const upstreamCost = target.target.cost && cost(target.target.cost, usage, charged.tier)
      count(target.key, { ...withoutZeros(usage), cost: actual, ...present({ upstreamCost }) })
      if (hold === undefined) return
      record.settled = actual
      record.hold = hold.amount
      const channel = target.key
      const tokens = withoutZeros(usage)
      const note = { ...about, reason, channel, tier: bill.tier, tokens, flags, ...present({ upstreamCost }) }
      await hold.settle(actual, note, totalInput(usage) + usage.output)
    },
  }
}

/** Adds the calls of tools that an upstream of the client's own dialect makes without reporting them. */
function withCalls({ usage, target }: Charged, { hostedTools = [] }: RequestHead): Usage | undefined {
  if (usage === undefined || target.lane !== 'byte') return usage
  const calls = hostedTools.flatMap(({ tool, unreportedCalls }) =>
    unreportedCalls === undefined ? [] : [[tool, unreportedCalls] as const],
  )
  return { ...Object.fromEntries(calls), ...usage }
}

/** Calls of hosted tools to hold for: no upstream bounds their number by itself. */
function callsHeld({ hostedTools = [] }: RequestHead): HoldSize['calls'] {
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
async function takeHold(
  { holds }: Billing,
  { caller: { key, account }, id, time, cancel }: AdmittedContext,
  {
    route,
    request,
    images = 0,
    about,
    budgets,
    teller,
  }: Order & { about: EntryNote; budgets: AppliedBudget[]; teller: Teller },
): Promise<Hold | undefined> {
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
  return holds.take(account, { id, amount, seen, note, limits, budgets, ...teller, cancel }, time)
}

/** `metered`: money bounds what the caller may use. */
export function amountToHold(metered: boolean, route: RouteRecord, size: HoldSize): Nanos {
  const bound = route.price === undefined ? 0 : holdAmount(route.price, size)
  // Other accounts are never refused, so their holds are capped: the sum must stay a safe integer.
  return metered ? bound : Math.min(bound, MAX_UNENFORCED_HOLD)
}
