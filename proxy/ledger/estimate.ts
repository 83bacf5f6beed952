/**
 * Token counts where nobody has counted: an upper bound before the call, an estimate after a stream that ended
 * without usage. No tokenizer: on untrusted text they block the event loop for seconds.
 */
import type { Price } from '../../contract/money.ts'
import { cost, type Nanos } from '../../contract/money.ts'
import type { Delivered, InputSize } from '../../contract/sizes.ts'
import { zeroUsage } from '../../contract/usage.ts'

export const DEFAULT_OUTPUT_TOKENS = 4_096
const TOKENS_PER_IMAGE = 2_048
/** Of a picture that is made: the largest and finest of today's models. */
const TOKENS_PER_OUTPUT_IMAGE = 8_192
const TOKENS_PER_TOOL = 32
const BYTES_PER_TOKEN = 4

/** Prompt tokens that are hardly ever exceeded: two bytes a token, a fixed cost for what is not text. */
export function inputUpperBound(size: InputSize): number {
  return Math.ceil(size.textBytes / 2) + otherTokens(size) + 64
}

/** Prompt tokens as expected: four bytes a token. */
export function inputEstimate(size: InputSize): number {
  return Math.ceil(size.textBytes / BYTES_PER_TOKEN) + otherTokens(size)
}

/** Tokens of what is no text. Audio of 16 kB a second at some ten tokens a second; files as dense documents. */
function otherTokens(size: InputSize): number {
  return (
    size.images * TOKENS_PER_IMAGE +
    size.tools * TOKENS_PER_TOOL +
    Math.ceil(size.audioBytes / 1_000) +
    Math.ceil(size.fileBytes / 16) +
    (size.tokens ?? 0)
  )
}

/** Output tokens of what was delivered: at least one a delta, at least one per four bytes; pictures by the piece. */
export function outputEstimate({ deltas, bytes, images = 0 }: Delivered): number {
  return Math.max(deltas, Math.ceil(bytes / BYTES_PER_TOKEN)) + images * TOKENS_PER_IMAGE
}

/** The most output tokens that so many pictures take. */
export function pictureTokens(images: number): number {
  return images * TOKENS_PER_OUTPUT_IMAGE
}

/** The most that a request may use. */
export interface HoldSize {
  inputTokens: number
  outputTokens: number
  tier?: string | undefined
  images?: number
}

/**
 * The most that a request should cost. The dearest way to read the prompt is assumed, and a tier never makes the
 * hold smaller: the upstream may serve a cheap tier at the normal price.
 */
export function holdAmount(price: Price, { inputTokens, outputTokens, tier, images = 0 }: HoldSize): Nanos {
  const dearest = {
    ...price,
    input: Math.max(price.input, price.cachedInput, price.cacheWrite, price.cacheWriteLong),
  }
  const usage = { ...zeroUsage(), input: inputTokens, output: outputTokens, images }
  const normal = cost(dearest, usage)
  return tier === undefined ? normal : Math.max(normal, cost(dearest, usage, tier))
}

/** Learns, per model, how far estimates of finished streams were off, and corrects later ones. */
export class EstimateFactors {
  readonly #factors = new Map<string, number>()

  /** Weight of the newest observation. */
  static readonly #ALPHA = 0.1
  static readonly #MAX_MODELS = 10_000

  learn(model: string, estimated: number, actual: number): void {
    if (estimated <= 0 || actual <= 0) return
    if (!this.#factors.has(model) && this.#factors.size >= EstimateFactors.#MAX_MODELS) return
    const next = this.of(model) * (1 - EstimateFactors.#ALPHA) + (actual / estimated) * EstimateFactors.#ALPHA
    this.#factors.set(model, Math.min(2, Math.max(0.5, next)))
  }

  /** Between 0.5 and 2; 1 for a model that nothing is known of. */
  of(model: string): number {
    return this.#factors.get(model) ?? 1
  }
}
