/** The cost of a finished request, and its reason. */
import { cost, type Nanos, type Price } from '../../contract/money.ts'
import type { Delivered, InputSize } from '../../contract/sizes.ts'
import { type Usage, zeroUsage } from '../../contract/usage.ts'
import type { EntryNote } from '../../store/ledger/contract.ts'
import { inputEstimate } from './estimate.ts'
import { type OutputModel, outputTokens, thoughtTokens } from './learned.ts'
import { boundUsage, type UsageBounds } from './usage-bounds.ts'

export interface Served {
  /** Reported by the upstream; an explicit zero is a report. */
  usage: Usage | undefined
  delivered: Delivered
  prompt: InputSize
  /** The whole answer was delivered, or all of it but its usage. */
  ended: boolean
  /** How long a stream took to show output, or has shown none; undefined if the answer was no stream. */
  thinkingMs?: number | undefined
  /** For estimates of answers of this route. */
  learned: OutputModel
  /** The tier that the caller requested, and the one that the upstream reports. */
  requestedTier: string | undefined
  servedTier: string | undefined
  bounds: UsageBounds
}

export interface Bill {
  actual: Nanos
  usage: Usage
  reason: EntryNote['reason']
  /** The tier that was charged; '' for none. */
  tier: string
  /** The upstream claimed more than the bounds allow. */
  clamped: boolean
}

/**
 * The first that applies: the upstream's own usage; an estimate of the prompt and the delivered output; the prompt alone
 * when the upstream had accepted the request and nothing of an answer was seen. Without a price the amount is 0.
 */
export function billOf(price: Price | undefined, served: Served): Bill {
  const tier = billedTier(served, price)
  const { deltas, images = 0 } = served.delivered
  const begun = deltas > 0 || images > 0 || served.ended
  const output = begun
    ? outputTokens(served.delivered, served.learned)
    : thoughtTokens(served.thinkingMs ?? 0, served.learned)
  const estimated = begun || output > 0
  const reason: Bill['reason'] = served.usage !== undefined ? 'usage' : estimated ? 'estimate' : 'input_only'
  const claimed = served.usage && boundUsage(served.usage, served.bounds)
  const clamped = claimed?.clamped ?? false
  const usage = claimed?.usage ?? {
    ...zeroUsage(),
    input: inputEstimate(served.prompt),
    output,
    images,
  }
  const seen = { usage, reason, clamped }
  if (price === undefined) return { actual: 0, tier: tier ?? '', ...seen }
  // A tier that the upstream did not confirm never lowers the price: it may have ignored the tier.
  const actual = cost(price, usage, tier)
  const normal = served.servedTier === undefined && tier !== undefined ? cost(price, usage) : 0
  return normal > actual ? { actual: normal, tier: '', ...seen } : { actual, tier: tier ?? '', ...seen }
}

/**
 * The reported tier counts. `priority` and `fast` are two names for one tier: some upstreams report one when the other was
 * requested, and only one of the two may have a price.
 */
function billedTier(
  { requestedTier: requested, servedTier: served }: Served,
  price: Price | undefined,
): string | undefined {
  if (served === undefined || (served === 'priority' && requested === 'fast')) return requested
  const unpriced = price !== undefined && !Object.hasOwn(price.multipliers, served)
  return served === 'fast' && requested === 'priority' && unpriced ? requested : served
}
