/**
 * Money. People read and write decimal US dollars with at most nine decimals ("0.000000001"). The store and the
 * ledger hold integer nano-dollars. Costs are computed in BigInt and rounded up once per request.
 */
import { hash } from 'node:crypto'
import { withoutEnd } from './text.ts'
import { type Usage, zeroUsage } from './usage.ts'

/** Integer nano-dollars (1e-9 USD). Always a safe integer, so an account is capped at about 9 million dollars. */
export type Nanos = number

const NANOS_PER_DOLLAR = 1_000_000_000
const TOKENS_PER_PRICE = 1_000_000n
/** Multipliers are integers in billionths, as money is, so that "1.25" stays exact. */
const MULTIPLIER_UNIT = 1_000_000_000n

/** Largest amount that a resource may name, in dollars: 9 million, below 2^53 nano-dollars. */
export const MAX_DOLLARS = 9_000_000

/** Decimal text in resources: an optional sign, up to seven digits, up to nine decimals. */
export const DECIMAL = /^-?[0-9]{1,7}(\.[0-9]{1,9})?$/

/** What one request costs. All fields are nano-dollars; token prices are per million tokens. */
export interface Price {
  input: Nanos
  cachedInput: Nanos
  cacheWrite: Nanos
  cacheWriteLong: Nanos
  output: Nanos
  perRequest: Nanos
  perImage: Nanos
  /** Factors by service tier, in billionths, applied to the whole cost. */
  multipliers: Record<string, number>
}

/** Parses decimal dollars (see DECIMAL) into nano-dollars. Throws RangeError on other text. */
export function parseDollars(text: string): Nanos {
  if (!DECIMAL.test(text)) throw new RangeError('not a decimal dollar amount with at most 9 decimals')
  const negative = text.startsWith('-')
  const [whole = '0', fraction = ''] = text.replace('-', '').split('.')
  const nanos = Number(whole) * NANOS_PER_DOLLAR + Number(fraction.padEnd(9, '0'))
  if (!Number.isSafeInteger(nanos)) throw new RangeError(`a dollar amount is at most ${MAX_DOLLARS}`)
  return negative && nanos !== 0 ? -nanos : nanos
}

/** Nano-dollars as the shortest decimal dollar text: 1500000000 is "1.5". */
export function formatDollars(nanos: Nanos): string {
  const digits = Math.abs(nanos).toString().padStart(10, '0')
  const fraction = withoutEnd(digits.slice(-9), '0')
  return `${nanos < 0 ? '-' : ''}${digits.slice(0, -9)}${fraction === '' ? '' : `.${fraction}`}`
}

/** The cost of one request with this usage, rounded up once. `tier` picks a multiplier; default 1. */
export function cost(price: Price, usage: Usage, tier?: string): Nanos {
  const perMillion =
    BigInt(price.input) * BigInt(usage.input) +
    BigInt(price.cachedInput) * BigInt(usage.cachedInput) +
    BigInt(price.cacheWrite) * BigInt(usage.cacheWrite) +
    BigInt(price.cacheWriteLong) * BigInt(usage.cacheWriteLong) +
    BigInt(price.output) * BigInt(usage.output)
  const flat = BigInt(price.perRequest) + BigInt(price.perImage) * BigInt(usage.images)
  const total = (perMillion + flat * TOKENS_PER_PRICE) * multiplierOf(price, tier)
  const unit = TOKENS_PER_PRICE * MULTIPLIER_UNIT
  const nanos = (total + unit - 1n) / unit
  return nanos > BigInt(Number.MAX_SAFE_INTEGER) ? Number.MAX_SAFE_INTEGER : Number(nanos)
}

/** Eight hex digits that change whenever the price does. */
export function priceVersion({ multipliers, ...amounts }: Price): string {
  const sorted = (object: object) => Object.entries(object).sort(([a], [b]) => (a < b ? -1 : 1))
  return hash('sha256', JSON.stringify([sorted(amounts), sorted(multipliers)]), 'hex').slice(0, 8)
}

/** The cost of a request without any usage: `perRequest` alone. */
export function flatCost(price: Price, tier?: string): Nanos {
  return cost(price, zeroUsage(), tier)
}

function multiplierOf(price: Price, tier: string | undefined): bigint {
  // The tier comes from clients and upstreams: `constructor` must find nothing.
  const own = tier !== undefined && Object.hasOwn(price.multipliers, tier)
  const billionths = own ? price.multipliers[tier] : undefined
  return billionths === undefined ? MULTIPLIER_UNIT : BigInt(billionths)
}
