/** Bills one request: holds funds before it, watches its cost while it streams, and charges it at the end. */
import { COSTLIER_TIERS } from '../../../contract/api/index.ts'
import type { Nanos } from '../../../contract/money.ts'
import type { AccountRecord, RouteRecord } from '../../../contract/table/records.ts'
import type { Caller } from '../../auth/authenticate.ts'
import type { ParsedRequest } from '../../dialects/core/request.ts'
import { GatewayError } from '../../errors.ts'
import { billOf } from '../../ledger/bill.ts'
import {
  DEFAULT_OUTPUT_TOKENS,
  type EstimateFactors,
  type HoldSize,
  holdAmount,
  imageTokens,
  inputUpperBound,
  outputEstimate,
} from '../../ledger/estimate.ts'
import type { Hold, Holds } from '../../ledger/holds.ts'
import type { StreamResult } from '../answer/stream-answer.ts'
import type { AdmittedContext } from '../request/context.ts'
import type { PlannedTarget } from '../route.ts'
import { StreamMeter } from './meter.ts'

export interface Billing {
  holds: Holds
  factors: EstimateFactors
}

/** A request with its price. */
export interface Order {
  route: RouteRecord
  request: ParsedRequest
  /** Images that the answer may have. */
  images?: number
}

/** The known facts about the cost of an answer. */
export interface Charged extends Pick<StreamResult, 'usage' | 'tier' | 'delivered'> {
  target: PlannedTarget
}

/** The money of a request between its hold and its settlement. */
export interface Bill {
  /**
   * Watches the cost of a stream; `exhausted` is called when the funds are used up. Undefined if the answer is free.
   */
  meter(exhausted: () => void): StreamMeter | undefined
  /** Charges the answer, or frees the hold if there was no answer, and logs both. */
  settle(charged: Charged | undefined): Promise<void>
}

/** A thousand dollars. */
const MAX_UNENFORCED_HOLD = 1_000_000_000_000

/**
 * A paying account may request an expensive tier only if it has a price: otherwise the upstream charges more than the
 * gateway.
 */
export function refuseUnpricedTier({ account }: Caller, { route, request }: Order): void {
  const tier = COSTLIER_TIERS.find((costlier) => costlier === request.head.tier)
  if (tier === undefined || account?.enforced !== true || route.price === undefined) return
  if (route.price.multipliers[tier] !== undefined) return
  throw new GatewayError('unsupported_parameter', 'This service tier is not offered for this model.', {
    param: 'service_tier',
  })
}

/** Holds the most that the request may cost. Throws GatewayError insufficient_balance and store_unavailable. */
export async function openBill(billing: Billing, ctx: AdmittedContext, order: Order): Promise<Bill> {
  const hold = await takeHold(billing, ctx, order)
  ctx.record.hold = hold?.amount
  return {
    meter: (exhausted) => meterOf(billing, ctx.caller, order, { hold, exhausted }),
    settle: (charged) =>
      charged === undefined ? free(ctx, order, hold) : settle(billing, ctx, order, { hold, charged }),
  }
}

/** Undefined for a key that is not metered. */
async function takeHold(
  { holds }: Billing,
  { caller: { account, key }, id, time }: AdmittedContext,
  { route, request, images = 0 }: Order,
): Promise<Hold | undefined> {
  if (account === undefined) return undefined
  const { input, maxOutputTokens, choices, tier, images: requested } = request.head
  const texts = requested === undefined ? outputLimit(route, maxOutputTokens) * choices : 0
  const outputTokens = Math.max(texts, imageTokens(images))
  const size = { inputTokens: inputUpperBound(input), outputTokens, tier, images }
  const about = { model: route.name, key: key.id }
  return holds.take(account, { id, amount: amountToHold(account, route, size), about }, time)
}

/** Output tokens that one answer may have; `requested` is the caller's own limit. */
export function outputLimit(route: RouteRecord, requested: number | undefined): number {
  return requested ?? route.maxOutputTokens ?? DEFAULT_OUTPUT_TOKENS
}

export function amountToHold(account: AccountRecord, route: RouteRecord, size: HoldSize): Nanos {
  const bound = route.price === undefined ? 0 : holdAmount(route.price, size)
  // Accounts without enforcement are never refused, so their holds are capped: the sum must stay a safe integer.
  return account.enforced ? bound : Math.min(bound, MAX_UNENFORCED_HOLD)
}

function meterOf(
  { factors }: Billing,
  caller: Caller,
  { route, request: { head } }: Order,
  { hold, exhausted }: { hold: Hold | undefined; exhausted: () => void },
): StreamMeter | undefined {
  if (hold === undefined || route.price === undefined) return undefined
  return new StreamMeter({
    hold,
    price: route.price,
    tier: head.tier,
    prompt: head.input,
    factor: factors.of(factorKey(caller, route)),
    capped: head.maxOutputTokens !== undefined,
    exhausted,
  })
}

async function free({ caller }: AdmittedContext, { route }: Order, hold: Hold | undefined): Promise<void> {
  await hold?.settle(0, { reason: 'usage', model: route.name, channel: '', key: caller.key.id, tokens: {} })
}

async function settle(
  { factors }: Billing,
  { caller, record }: AdmittedContext,
  { route, request: { head } }: Order,
  { hold, charged }: { hold: Hold | undefined; charged: Charged },
): Promise<void> {
  const { delivered, target } = charged
  const learned = factorKey(caller, route)
  const { actual, usage, reason } = billOf(route.price, {
    usage: charged.usage,
    delivered,
    prompt: head.input,
    factor: factors.of(learned),
    requestedTier: head.tier,
    servedTier: charged.tier,
  })
  if (reason === 'usage') factors.learn(learned, outputEstimate(delivered), usage.output)
  record.usage = usage
  record.reason = reason
  if (hold === undefined) return
  record.settled = actual
  record.hold = hold.amount
  const note = { reason, model: route.name, channel: target.key, key: caller.key.id, tokens: { ...usage } }
  await hold.settle(actual, note)
}

/** Estimates are corrected for each route by itself. */
function factorKey(caller: Caller, route: RouteRecord): string {
  return `${caller.key.namespace}/${route.name}`
}
