/** The money of one request: what is held before it, watched while it streams, and charged after it. */
import { COSTLIER_TIERS } from '../../../contract/api/index.ts'
import type { Nanos } from '../../../contract/money.ts'
import type { AccountRecord, RouteRecord } from '../../../contract/table/records.ts'
import type { Caller } from '../../auth/authenticate.ts'
import type { ParsedRequest } from '../../dialects/core/dialect.ts'
import { GatewayError } from '../../errors.ts'
import { billOf } from '../../ledger/bill.ts'
import {
  DEFAULT_OUTPUT_TOKENS,
  holdAmount,
  inputUpperBound,
  outputEstimate,
  pictureTokens,
} from '../../ledger/estimate.ts'
import type { Hold } from '../../ledger/holds.ts'
import type { StoreTime } from '../../ledger/store-time.ts'
import type { RequestRecord } from '../../telemetry/request-log.ts'
import type { Delivery } from '../answer/deliver.ts'
import type { Gateway } from '../gateway.ts'
import { StreamMeter } from './meter.ts'

/** Who asks for what at which price. */
export interface Priced {
  caller: Caller
  route: RouteRecord
  request: ParsedRequest
  /** Pictures that the answer may have. */
  pictures?: number
}

/** A thousand dollars. */
const MAX_UNENFORCED_HOLD = 1_000_000_000_000

/** A tier that costs more at the upstream must have a factor before an account that pays may ask for it. */
export function refuseUnpricedTier({ caller, route, request }: Priced): void {
  const tier = COSTLIER_TIERS.find((costlier) => costlier === request.head.tier)
  if (tier === undefined || caller.account?.enforced !== true || route.price === undefined) return
  if (route.price.multipliers[tier] !== undefined) return
  throw new GatewayError('unsupported_parameter', 'This service tier is not offered for this model.', {
    param: 'service_tier',
  })
}

/** Holds the most that the request may cost; undefined for a key that is not metered. */
export async function takeHold(
  gateway: Gateway,
  { caller, route, request, pictures = 0 }: Priced,
  requestId: string,
  time: StoreTime,
): Promise<Hold | undefined> {
  if (caller.account === undefined) return undefined
  const { input, maxOutputTokens, choices, tier, images } = request.head
  const texts = images === undefined ? outputLimit(route, maxOutputTokens) * choices : 0
  const output = Math.max(texts, pictureTokens(pictures))
  const amount = amountToHold(caller.account, route, inputUpperBound(input), output, tier, pictures)
  const about = { model: route.name, key: caller.key.id }
  return gateway.holds.take(caller.account, requestId, amount, about, time)
}

/** Output tokens that one answer may have; `asked` is the caller's own limit. */
export function outputLimit(route: RouteRecord, asked: number | undefined): number {
  return asked ?? route.maxOutputTokens ?? DEFAULT_OUTPUT_TOKENS
}

export function amountToHold(
  account: AccountRecord,
  route: RouteRecord,
  inputTokens: number,
  outputTokens: number,
  tier?: string,
  images?: number,
): Nanos {
  const bound =
    route.price === undefined ? 0 : holdAmount(route.price, inputTokens, outputTokens, tier, images)
  // Nothing is refused where funds are not enforced, and the sum of such holds must stay countable.
  return account.enforced ? bound : Math.min(bound, MAX_UNENFORCED_HOLD)
}

/** Watches the cost of a stream; undefined where nothing is to be paid. */
export function meterOf(
  gateway: Gateway,
  { caller, route, request: { head } }: Priced,
  hold: Hold | undefined,
  exhausted: () => void,
): StreamMeter | undefined {
  if (hold === undefined || route.price === undefined) return undefined
  return new StreamMeter({
    hold,
    price: route.price,
    tier: head.tier,
    prompt: head.input,
    factor: gateway.factors.of(factorKey(caller, route)),
    capped: head.maxOutputTokens !== undefined,
    exhausted,
  })
}

/** Charges what was served, or frees the hold when nothing was, and notes both. */
export async function settle(
  gateway: Gateway,
  { caller, route, request: { head } }: Priced,
  hold: Hold | undefined,
  delivery: Delivery | undefined,
  record: RequestRecord,
): Promise<void> {
  const charged = delivery?.charged
  if (charged === undefined) {
    await hold?.settle(0, { reason: 'usage', model: route.name, channel: '', key: caller.key.id, tokens: {} })
    return
  }
  const { delivered, target } = charged
  const learned = factorKey(caller, route)
  const { actual, usage, reason } = billOf(route.price, {
    usage: charged.usage,
    delivered,
    prompt: head.input,
    factor: gateway.factors.of(learned),
    requestedTier: head.tier,
    servedTier: charged.tier,
  })
  if (reason === 'usage') gateway.factors.learn(learned, outputEstimate(delivered), usage.output)
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
