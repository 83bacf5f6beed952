/**
 * List prices of well-known models, for `sluice prices suggest` alone: no other command reads them. Prices are in dollars,
 * per million tokens. A model whose price is in doubt is left out, because a wrong price is worse than none.
 */
import type { PriceBlock } from './convert.ts'

export interface Known {
  /** The model and its dated versions, as the vendor's API knows them. */
  names: readonly string[]
  vendor: string
  /** The day on which the price was read. */
  date: string
  /** The vendor's page. */
  source: string
  /** True: read from others that quote the page, and agree. False: read from a stored copy of the page itself. */
  quoted: boolean
  price: PriceBlock
}

const DATE = '2026-11-23'
const ANTHROPIC = 'https://platform.claude.com/docs/en/about-claude/pricing'
const OPENAI = 'https://developers.openai.com/api/docs/pricing'
const GOOGLE = 'https://ai.google.dev/gemini-api/docs/pricing'

/** Input, output, then what is read from a cache, written to it, and written to it for an hour. */
type ClaudePrices = readonly [string, string, string, string, string]

function claudePrice([input, output, cachedInput, cacheWrite, cacheWriteLong]: ClaudePrices) {
  return { input, cachedInput, cacheWrite, cacheWriteLong, output }
}

function claude(names: readonly string[], prices: ClaudePrices): Known {
  return {
    names,
    vendor: 'Anthropic',
    date: DATE,
    source: ANTHROPIC,
    quoted: false,
    price: claudePrice(prices),
  }
}

/** Input, output, and what is read from a cache, where that has a price of its own. */
function openai(
  names: readonly string[],
  [input, output, cachedInput]: readonly [string, string, string?],
): Known {
  const price = { input, ...(cachedInput !== undefined && { cachedInput }), output }
  return { names, vendor: 'OpenAI', date: DATE, source: OPENAI, quoted: true, price }
}

const OPUS = ['5', '25', '0.5', '6.25', '10'] as const

export const CATALOGUE: readonly Known[] = [
  claude(['claude-fable-5'], ['10', '50', '1', '12.5', '20']),
  claude(['claude-opus-5'], OPUS),
  claude(['claude-opus-4-8'], OPUS),
  claude(['claude-opus-4-7'], OPUS),
  claude(['claude-opus-4-6'], OPUS),
  claude(['claude-opus-4-5', 'claude-opus-4-5-20251101'], OPUS),
  claude(['claude-opus-4-1', 'claude-opus-4-1-20250805'], ['15', '75', '1.5', '18.75', '30']),
  {
    ...claude(['claude-sonnet-5'], ['2', '10', '0.2', '2.5', '4']),
    source: 'https://platform.claude.com/docs/en/about-claude/models/overview',
  },
  claude(['claude-sonnet-4-6'], ['3', '15', '0.3', '3.75', '6']),
  claude(['claude-haiku-4-5', 'claude-haiku-4-5-20251001'], ['1', '5', '0.1', '1.25', '2']),

  openai(['gpt-5.2'], ['1.75', '14', '0.175']),
  openai(['gpt-5.1'], ['1.25', '10', '0.125']),
  openai(['gpt-5'], ['1.25', '10', '0.125']),
  openai(['gpt-5-mini'], ['0.25', '2', '0.025']),
  openai(['gpt-5-nano'], ['0.05', '0.4', '0.005']),
  openai(['gpt-4.1', 'gpt-4.1-2025-04-14'], ['2', '8', '0.5']),
  openai(['gpt-4.1-mini', 'gpt-4.1-mini-2025-04-14'], ['0.4', '1.6', '0.1']),
  openai(['gpt-4.1-nano', 'gpt-4.1-nano-2025-04-14'], ['0.1', '0.4', '0.025']),
  openai(['gpt-4o', 'gpt-4o-2024-08-06', 'gpt-4o-2024-11-20'], ['2.5', '10', '1.25']),
  openai(['gpt-4o-2024-05-13'], ['5', '15']),
  openai(['gpt-4o-mini', 'gpt-4o-mini-2024-07-18'], ['0.15', '0.6', '0.075']),
  openai(['o3', 'o3-2025-04-16'], ['2', '8', '0.5']),
  openai(['o4-mini', 'o4-mini-2025-04-16'], ['1.1', '4.4', '0.275']),
  openai(['o3-mini', 'o3-mini-2025-01-31'], ['1.1', '4.4', '0.55']),
  {
    ...openai(['gpt-4', 'gpt-4-0613'], ['30', '60']),
    source: 'https://developers.openai.com/api/docs/models/gpt-4',
    quoted: false,
  },
  openai(['text-embedding-3-small'], ['0.02', '0']),
  openai(['text-embedding-3-large'], ['0.13', '0']),

  {
    ...{ names: ['gemini-2.5-pro'], vendor: 'Google', date: DATE, source: GOOGLE, quoted: true },
    price: {
      ...{ input: '1.25', cachedInput: '0.125', output: '10' },
      above: [{ tokens: 200_000, input: '2.5', cachedInput: '0.25', output: '15' }],
    },
  },
]
