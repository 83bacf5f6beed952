/** Turns an entry of a price list into a `price` block. What the block cannot express is named, never dropped silently. */
import type { ModelRouteSpec } from '../../contract/api/index.ts'
import { MAX_DOLLARS } from '../../contract/money.ts'
import { asPrice, type Decimal, decimalText, quotient, shifted } from './decimal.ts'
import { ABOUT_PRICES, type Listed } from './price-list.ts'

/** Prices of tokens, by the field of the list. */
const TOKENS = {
  input_cost_per_token: 'input',
  cache_read_input_token_cost: 'cachedInput',
  cache_creation_input_token_cost: 'cacheWrite',
  cache_creation_input_token_cost_above_1hr: 'cacheWriteLong',
  output_cost_per_token: 'output',
  input_cost_per_image_token: 'imageInput',
  input_cost_per_audio_token: 'audioInput',
  output_cost_per_audio_token: 'audioOutput',
  output_cost_per_reasoning_token: 'reasoning',
} as const
const TOKEN_FIELDS = Object.entries(TOKENS)
type TokenKind = (typeof TOKENS)[keyof typeof TOKENS]
type TokenBlock = { [Kind in TokenKind]?: string | undefined }

/** The `price` of a ModelRoute: decimal dollars, per million tokens where they are for tokens. */
export type PriceBlock = NonNullable<ModelRouteSpec['price']>
type AboveRow = NonNullable<PriceBlock['above']>[number]

export interface Converted {
  /** Undefined: the entry has no price that a route could have. */
  block: PriceBlock | undefined
  /** Sentences about what differs from the list: fields without a counterpart, and rounded numbers. */
  notes: string[]
}

const TIERS = ['priority', 'flex'] as const
const THRESHOLD = /^(.+)_above_([0-9]+)k_tokens$/

export function convert(entry: Listed): Converted {
  return new Conversion(entry).result()
}

class Conversion {
  readonly #entry: Listed
  readonly #left: Set<string>
  readonly #notes: string[] = []

  constructor(entry: Listed) {
    this.#entry = entry
    // A price of 0 without a counterpart changes nothing.
    const charged = [...entry.numbers].filter(([name, { digits }]) => ABOUT_PRICES.test(name) && digits > 0n)
    this.#left = new Set([...charged.map(([name]) => name), ...entry.others])
  }

  result(): Converted {
    const block: PriceBlock = this.#tokens('')
    // Vectors are not charged by their length, and many lists leave the field out.
    if (this.#entry.mode === 'embedding' && block.input !== undefined) block.output ??= '0'
    const above = this.#above(block)
    if (above.length > 0) block.above = above
    const fileSearch = this.#take('file_search_cost_per_1k_calls', -3)
    if (fileSearch !== undefined) block.perCall = { fileSearch }
    const perRequest = this.#take('input_cost_per_request', 0)
    if (perRequest !== undefined) block.perRequest = perRequest
    // Where tokens have a price too, the list states the cost of an image in two ways, and a route would charge both.
    if (this.#entry.mode === 'image_generation' && !hasTokenPrice(block)) {
      const perImage = this.#take('output_cost_per_image', 0)
      if (perImage !== undefined) block.perImage = perImage
    }
    const multipliers = this.#multipliers(block)
    if (Object.keys(multipliers).length > 0) block.multipliers = multipliers
    if (this.#left.size > 0) this.#notes.push(`no counterpart: ${[...this.#left].toSorted().join(', ')}`)
    return { block: this.#isUsable(block) ? block : undefined, notes: this.#notes }
  }

  #isUsable(block: PriceBlock): boolean {
    if ((block.input === undefined) !== (block.output === undefined)) {
      this.#notes.push(`the entry has no price of ${block.input === undefined ? 'input' : 'output'} tokens`)
      return false
    }
    return block.input !== undefined || block.perRequest !== undefined || block.perImage !== undefined
  }

  #tokens(suffix: string): TokenBlock {
    const prices = TOKEN_FIELDS.map(([field, kind]) => [kind, this.#take(field + suffix, 6)] as const)
    return Object.fromEntries(prices.filter(([, price]) => price !== undefined))
  }

  /** Prices of long prompts. What the list does not raise keeps its price, as it does for the gateway that reads the list. */
  #above(base: TokenBlock): AboveRow[] {
    const { input, output } = base
    if (input === undefined || output === undefined) return []
    const thresholds = [...this.#entry.numbers.keys()].flatMap((name) => {
      const [, field = '', thousands] = THRESHOLD.exec(name) ?? []
      return Object.hasOwn(TOKENS, field) ? [Number(thousands)] : []
    })
    return [...new Set(thresholds)]
      .toSorted((a, b) => a - b)
      .map((thousands) => {
        const own = this.#tokens(`_above_${thousands}k_tokens`)
        const both = { input: own.input ?? input, output: own.output ?? output }
        return { tokens: thousands * 1_000, ...tokensOf(base), ...own, ...both }
      })
  }

  /** The factor of a tier, where all that a request may cost rises by the same factor. */
  #multipliers(block: PriceBlock): Record<string, string> {
    if (block.perRequest !== undefined || block.perImage !== undefined || block.perCall !== undefined)
      return {}
    const factors: Record<string, string> = {}
    for (const tier of TIERS) {
      const base = [...this.#entry.numbers].filter(
        ([name, { digits }]) => digits > 0n && (Object.hasOwn(TOKENS, name) || isAbove(name)),
      )
      const ratios = base.map(([name, price]) => {
        const raised = this.#entry.numbers.get(`${name}_${tier}`)
        return raised === undefined ? undefined : quotient(raised, price)
      })
      const [factor] = ratios
      if (factor === undefined || ratios.some((one) => one !== factor)) continue
      factors[tier] = factor
      for (const [name] of base) this.#left.delete(`${name}_${tier}`)
    }
    return factors
  }

  /** The price in a field × 10^power. */
  #take(field: string, power: number): string | undefined {
    const number = this.#entry.numbers.get(field)
    if (number === undefined) return undefined
    const exact = shifted(number, power)
    const { text, exact: isExact } = asPrice(exact)
    if (isTooHigh(exact)) {
      this.#notes.push(`${field} is more than ${MAX_DOLLARS} dollars`)
      return undefined
    }
    this.#left.delete(field)
    if (!isExact) this.#notes.push(`${field} is ${decimalText(exact)}, rounded up to ${text}`)
    return text
  }
}

const isTooHigh = ({ digits, places }: Decimal) => digits > BigInt(MAX_DOLLARS) * 10n ** BigInt(places)

const isAbove = (name: string) => Object.hasOwn(TOKENS, THRESHOLD.exec(name)?.[1] ?? '')

function hasTokenPrice(block: TokenBlock): boolean {
  return Object.values(tokensOf(block)).some((price) => price !== '0')
}

function tokensOf(block: TokenBlock): TokenBlock {
  return Object.fromEntries(
    TOKEN_FIELDS.flatMap(([, kind]) => (block[kind] === undefined ? [] : [[kind, block[kind]]])),
  )
}
