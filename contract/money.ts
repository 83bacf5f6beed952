/**
 * Money. People read and write decimal US dollars with at most nine decimals ("0.000000001"). The store and the
 * ledger hold integer nano-dollars. Costs are computed in BigInt and rounded up once per request.
 */
import { hash } from 'node:crypto'
import type { ImageKind } from './sizes.ts'
import { withoutEnd } from './text.ts'
import { HOSTED_TOOLS, type HostedTool, totalInput, type Usage, zeroUsage } from './usage.ts'

/** Integer nano-dollars (1e-9 USD). Always a safe integer, so an account is capped at about 9 million dollars. */
export type Nanos = number

const NANOS_PER_DOLLAR = 1_000_000_000
const TOKENS_PER_PRICE = 1_000_000
/** Multipliers are integers in billionths, as money is, so that "1.25" stays exact. */
const MULTIPLIER_UNIT = 1_000_000_000

/** Largest amount that a resource may name, in dollars: 9 million, below 2^53 nano-dollars. */
export const MAX_DOLLARS = 9_000_000

/** Decimal text in resources: an optional sign, up to seven digits, up to nine decimals. */
export const DECIMAL = /^-?[0-9]{1,7}(\.[0-9]{1,9})?$/

/** Nano-dollars per million tokens. */
export interface TokenPrices {
  input: Nanos
  cachedInput: Nanos
  cacheWrite: Nanos
  cacheWriteLong: Nanos
  output: Nanos
  /** Absent: charged at the price of the next more expensive kind that has one. */
  imageInput?: Nanos | undefined
  audioInput?: Nanos | undefined
  audioOutput?: Nanos | undefined
  /** Absent: as output. */
  reasoning?: Nanos | undefined
}

/** What one request costs, in nano-dollars. */
export interface Price extends TokenPrices {
  perRequest: Nanos
  perImage: Nanos
  /** Instead of perImage, for images of a size, a quality or both; the first that matches counts. */
  images?: ({ amount: Nanos } & { [K in keyof ImageKind]?: string | undefined })[] | undefined
  /** For each call of a hosted tool. */
  perCall?: { [K in HostedTool]?: Nanos | undefined } | undefined
  /** Prices of a request whose prompt has more than so many tokens; rising. */
  above?: ({ tokens: number } & TokenPrices)[] | undefined
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
  const multiplier = multiplierOf(price, tier)
  if (multiplier === undefined) {
    // Exact without BigInt, which costs 30 times as much: no term is negative, so a safe sum has no unsafe term.
    let total = 0
    eachCharge(price, usage, (amount, times, per) => {
      total += amount * times * per
    })
    if (Number.isSafeInteger(total)) {
      const rest = total % TOKENS_PER_PRICE
      return (total - rest) / TOKENS_PER_PRICE + (rest > 0 ? 1 : 0)
    }
  }
  let total = 0n
  eachCharge(price, usage, (amount, times, per) => {
    total += BigInt(amount) * BigInt(times) * BigInt(per)
  })
  const unit = BigInt(TOKENS_PER_PRICE) * BigInt(MULTIPLIER_UNIT)
  const nanos = (total * BigInt(multiplier ?? MULTIPLIER_UNIT) + unit - 1n) / unit
  return nanos > BigInt(Number.MAX_SAFE_INTEGER) ? Number.MAX_SAFE_INTEGER : Number(nanos)
}

/** `amount` is charged `times` times, for a million (`per` is 1), or for one. */
type EachCharge = (amount: Nanos, times: number, per: number) => void

function eachCharge(price: Price, usage: Usage, charge: EachCharge): void {
  const rates = ratesFor(price, totalInput(usage))
  const parts = partsOf(usage)
  charge(rates.input, usage.input - parts.imageInput - parts.audioInput, 1)
  charge(rates.cachedInput, usage.cachedInput, 1)
  charge(rates.cacheWrite, usage.cacheWrite, 1)
  charge(rates.cacheWriteLong, usage.cacheWriteLong, 1)
  charge(rates.output, usage.output - parts.audioOutput - parts.reasoning, 1)
  charge(rates.reasoning ?? rates.output, parts.reasoning, 1)
  if (parts.imageInput + parts.audioInput + parts.audioOutput > 0) {
    const { imageInput, audioInput, audioOutput } = ratesOfParts(rates)
    charge(imageInput, parts.imageInput, 1)
    charge(audioInput, parts.audioInput, 1)
    charge(audioOutput, parts.audioOutput, 1)
  }
  charge(price.perRequest, 1, TOKENS_PER_PRICE)
  charge(price.perImage, usage.images, TOKENS_PER_PRICE)
  if (price.perCall === undefined) return
  for (const tool of HOSTED_TOOLS) charge(price.perCall[tool] ?? 0, usage[tool] ?? 0, TOKENS_PER_PRICE)
}

/**
 * The price with `perImage` for images of this kind. Of a kind that is not known, the most expensive that it may be: a hold must
 * cover it, and no image is free because the upstream does not say what it made.
 */
export function withImagePrice(price: Price, { size, quality }: ImageKind): Price {
  const { images, perImage } = price
  if (images === undefined) return price
  let most = 0
  for (const entry of images) {
    const fits = (own: string | undefined, known: string | undefined) =>
      own === undefined || known === undefined || own === known
    if (!fits(entry.size, size) || !fits(entry.quality, quality)) continue
    most = Math.max(most, entry.amount)
    const isSure =
      (entry.size === undefined || size !== undefined) &&
      (entry.quality === undefined || quality !== undefined)
    if (isSure) return { ...price, perImage: most }
  }
  return { ...price, perImage: Math.max(most, perImage) }
}

/** The kinds that were used and have no price of their own. Tokens are charged as a more expensive kind, calls not at all. */
export function unpricedKinds(price: Price, usage: Usage): string[] {
  const rates = ratesFor(price, totalInput(usage))
  const kinds = (['imageInput', 'audioInput', 'audioOutput'] as const).filter(
    (kind) => (usage[kind] ?? 0) > 0 && rates[kind] === undefined,
  )
  const tools = HOSTED_TOOLS.filter((tool) => (usage[tool] ?? 0) > 0 && price.perCall?.[tool] === undefined)
  return [...kinds, ...tools]
}

/** The token prices of a request with so many prompt tokens. */
function ratesFor(price: Price, promptTokens: number): TokenPrices {
  return price.above?.findLast(({ tokens }) => promptTokens > tokens) ?? price
}

/** What is known of the parts, at most what there is of the whole. */
function partsOf({ input, output, imageInput = 0, audioInput = 0, audioOutput = 0, reasoning }: Usage) {
  const images = Math.min(imageInput, input)
  const spoken = Math.min(audioOutput, output)
  return {
    imageInput: images,
    audioInput: Math.min(audioInput, input - images),
    audioOutput: spoken,
    reasoning: Math.min(reasoning, output - spoken),
  }
}

/** From cheap to expensive: text, image and audio of a prompt, then text and audio of an answer. */
function ratesOfParts({ input, output, imageInput, audioInput, audioOutput }: TokenPrices) {
  const answer = Math.max(input, output)
  const audio = audioInput ?? answer
  return {
    imageInput: imageInput ?? audio,
    audioInput: audio,
    audioOutput: audioOutput ?? Math.max(answer, audio),
  }
}

/** Eight hex digits that change whenever the price does. */
export function priceVersion({ multipliers, ...amounts }: Price): string {
  return hash('sha256', JSON.stringify([sorted(amounts), sorted(multipliers)]), 'hex').slice(0, 8)
}

/** The same for objects that differ only in the order of their members. */
function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted)
  if (typeof value !== 'object' || value === null) return value
  const members = Object.entries(value).filter(([, one]) => one !== undefined)
  return members.sort(([a], [b]) => (a < b ? -1 : 1)).map(([name, one]) => [name, sorted(one)])
}

/** The cost of a request without any usage: `perRequest` alone. */
export function flatCost(price: Price, tier?: string): Nanos {
  return cost(price, zeroUsage(), tier)
}

/** In billionths; undefined: 1. */
function multiplierOf(price: Price, tier: string | undefined): number | undefined {
  // The tier comes from clients and upstreams: `constructor` must find nothing.
  const own = tier !== undefined && Object.hasOwn(price.multipliers, tier)
  return own ? price.multipliers[tier] : undefined
}
