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
    Math.ceil(size.fileBytes / 16)
  )
}

/** Output tokens of what was delivered: at least one a delta, at least one per four bytes. */
export function outputEstimate(delivered: Delivered): number {
  return Math.max(delivered.deltas, Math.ceil(delivered.bytes / BYTES_PER_TOKEN))
}

/**
 * The most that a request should cost. The dearest way to read the prompt is assumed, and a tier never makes the
 * hold smaller: the upstream may serve a cheap tier at the normal price.
 */
export function holdAmount(
  price: Price,
  inputTokens: number,
  outputTokens: number,
  tier: string | undefined,
): Nanos {
  const dearest = {
    ...price,
    input: Math.max(price.input, price.cachedInput, price.cacheWrite, price.cacheWriteLong),
  }
  const usage = { ...zeroUsage(), input: inputTokens, output: outputTokens }
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
