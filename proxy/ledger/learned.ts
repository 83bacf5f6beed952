/**
 * What a route's finished answers teach about those whose usage is never reported: how many tokens the visible output
 * has, and how many tokens of hidden reasoning came with it.
 */
import type { Delivered } from '../../contract/sizes.ts'
import type { Usage } from '../../contract/usage.ts'
import { outputEstimate } from './estimate.ts'

/** How the tokens of an answer relate to what was delivered of it. */
export interface OutputModel {
  /** Tokens for each estimated token of visible output. */
  ratio: number
  /** Mean tokens of reasoning that was not delivered. */
  hidden: number
  /** Mean milliseconds until the first visible output of a stream; 0: not known. */
  thinkingMs: number
}

const UNKNOWN: OutputModel = { ratio: 1, hidden: 0, thinkingMs: 0 }
/** Weight of the newest answer. */
const ALPHA = 0.1
/** Tokens of answers that are assumed to have met their estimates, so that a first short answer teaches little. */
const PRIOR_TOKENS = 64
/** An upstream that reports hardly any tokens does not make estimates worthless. */
const LEAST_RATIO = 0.1
/** Visible output never has more tokens than this for each that is estimated. */
const MOST_RATIO = 2
const MAX_ROUTES = 10_000

/** Estimated output tokens of an answer that has begun. */
export function outputTokens(delivered: Delivered, { ratio, hidden }: OutputModel): number {
  return Math.ceil(hidden + outputEstimate(delivered) * ratio)
}

/** Estimated tokens of a stream that has shown no output for so long: reasoning grows with time, up to its mean. */
export function thoughtTokens(elapsedMs: number, { hidden, thinkingMs }: OutputModel): number {
  return thinkingMs === 0 ? 0 : Math.ceil(hidden * Math.min(1, elapsedMs / thinkingMs))
}

interface Learned {
  /** Decaying sums over the answers so far. */
  estimated: number
  visible: number
  /** Decaying means. */
  hidden: number
  thinkingMs: number
}

export class LearnedOutputs {
  readonly #routes = new Map<string, Learned>()

  /** Takes the reported usage of an answer. `thinkingMs`: how long its stream took to show output; see OutputModel. */
  learn(route: string, delivered: Delivered, { output, reasoning }: Usage, thinkingMs?: number): void {
    const estimated = outputEstimate(delivered)
    if (estimated <= 0 || output <= 0 || (delivered.images ?? 0) > 0) return
    const known = this.#routes.get(route)
    if (known === undefined && this.#routes.size >= MAX_ROUTES) return
    // Some upstreams show their reasoning, or a summary of it; some do not report it. What the visible output cannot explain
    // was hidden.
    const reported = Math.min(reasoning, Math.max(0, output - estimated))
    const hidden = Math.max(reported, output - MOST_RATIO * estimated)
    const before = known ?? { estimated: PRIOR_TOKENS, visible: PRIOR_TOKENS, hidden, thinkingMs: 0 }
    const { thinkingMs: thought } = before
    this.#routes.set(route, {
      estimated: before.estimated * (1 - ALPHA) + estimated,
      visible: before.visible * (1 - ALPHA) + output - hidden,
      hidden: mean(before.hidden, hidden),
      thinkingMs: thinkingMs === undefined ? thought : mean(thought || thinkingMs, thinkingMs),
    })
  }

  of(route: string): OutputModel {
    const known = this.#routes.get(route)
    if (known === undefined) return UNKNOWN
    const { estimated, visible, hidden, thinkingMs } = known
    return { ratio: Math.max(LEAST_RATIO, visible / estimated), hidden, thinkingMs }
  }
}

const mean = (before: number, now: number) => before * (1 - ALPHA) + now * ALPHA
