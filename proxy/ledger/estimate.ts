/**
 * Token counts without a tokenizer: an upper bound before the call, an estimate after a stream that ended without usage.
 * Tokenizers block the event loop for seconds on untrusted text.
 */
import { cost, type Nanos, type Price } from '../../contract/money.ts'
import type { Delivered, InputSize } from '../../contract/sizes.ts'
import { type HostedTool, zeroUsage } from '../../contract/usage.ts'

export const DEFAULT_OUTPUT_TOKENS = 4_096
const TOKENS_PER_IMAGE = 2_048
/** Tokens of a generated image: the largest and finest of today's models. */
const TOKENS_PER_OUTPUT_IMAGE = 8_192
const TOKENS_PER_TOOL = 32
const BYTES_PER_TOKEN = 4

/** An upper bound on prompt tokens that is hardly ever exceeded: two bytes a token, fixed costs for everything else. */
export function inputUpperBound(size: InputSize): number {
  return Math.ceil(size.textBytes / 2) + otherTokens(size) + 64
}

/** Expected prompt tokens: four bytes a token. */
export function inputEstimate(size: InputSize): number {
  return Math.ceil(size.textBytes / BYTES_PER_TOKEN) + otherTokens(size)
}

/** Tokens of everything but text. Audio of 16 kB a second has about ten tokens a second; files count as dense documents. */
function otherTokens(size: InputSize): number {
  return (
    size.images * TOKENS_PER_IMAGE +
    size.tools * TOKENS_PER_TOOL +
    Math.ceil(size.audioBytes / 1_000) +
    Math.ceil(size.fileBytes / 16) +
    (size.tokens ?? 0)
  )
}

/** Estimated output tokens: at least one per delta and one per four bytes; a fixed number per image. */
export function outputEstimate({ deltas, bytes, images = 0 }: Delivered): number {
  return Math.max(deltas, Math.ceil(bytes / BYTES_PER_TOKEN)) + images * TOKENS_PER_IMAGE
}

/** The most output tokens for a number of images. */
export function imageTokens(images: number): number {
  return images * TOKENS_PER_OUTPUT_IMAGE
}

/** The most that a request may use. */
export interface HoldSize {
  inputTokens: number
  outputTokens: number
  tier?: string | undefined
  images?: number
  /** Calls of hosted tools. */
  calls?: { [K in HostedTool]?: number } | undefined
}

/**
 * The most that a request should cost. Takes the most expensive price of a prompt token. A tier never makes the
 * hold smaller: the upstream may serve a cheap tier at the normal price.
 */
export function holdAmount(price: Price, size: HoldSize): Nanos {
  const { inputTokens, outputTokens, tier, images = 0, calls } = size
  const highest = highestOf(price, inputTokens)
  const usage = { ...zeroUsage(), input: inputTokens, output: outputTokens, images, ...calls }
  const normal = cost(highest, usage)
  return tier === undefined ? normal : Math.max(normal, cost(highest, usage, tier))
}

/** Of prices that are the same for prompts of any length. */
const highestPrices = new WeakMap<Price, Price>()

/** The price with all tokens of a prompt at its most expensive price, and all others at that of an answer. */
function highestOf(price: Price, inputTokens: number): Price {
  const known = highestPrices.get(price)
  if (known !== undefined) return known
  // A prompt that is shorter than its upper bound may be charged at the prices of a shorter one.
  const { above = [], ...flat } = price
  const possible = [price, ...above.filter(({ tokens }) => inputTokens > tokens)]
  const highest = {
    ...flat,
    input: Math.max(
      ...possible.flatMap(({ input, cachedInput, cacheWrite, cacheWriteLong }) => [
        input,
        cachedInput,
        cacheWrite,
        cacheWriteLong,
      ]),
    ),
    output: Math.max(...possible.flatMap(({ output, reasoning = 0 }) => [output, reasoning])),
  }
  if (above.length === 0) highestPrices.set(price, highest)
  return highest
}
