/** Bounds on what an upstream claims to have used: a wrong number must not empty an account. */
import { HOSTED_TOOLS, totalInput, type Usage } from '../../contract/usage.ts'

/** For a route that names no context window; larger than any of today. */
export const MAX_CONTEXT_TOKENS = 2_000_000
/** By how much an answer may exceed a limit on its output: some models do not count their reasoning. */
const OUTPUT_SLACK = 4
/** Smaller limits are raised to this one for upstreams that refuse them. */
const LEAST_LIMIT = 16

/** Calls of one hosted tool in an answer. */
const MOST_CALLS = 1_000

export interface UsageBounds {
  /** The context window of the route. */
  contextLength: number | undefined
  /** The limit on output tokens that was sent upstream, for all answers of the request together. */
  outputLimit: number | undefined
}

/** `clamped`: a count was beyond its bound and is replaced by it. */
export function boundUsage(
  usage: Usage,
  { contextLength = MAX_CONTEXT_TOKENS, outputLimit = Infinity }: UsageBounds,
): { usage: Usage; clamped: boolean } {
  let left = contextLength
  const take = (count: number) => {
    const taken = Math.min(count, left)
    left -= taken
    return taken
  }
  const output = Math.min(usage.output, contextLength, OUTPUT_SLACK * Math.max(LEAST_LIMIT, outputLimit))
  const bounded: Usage = {
    ...usage,
    input: take(usage.input),
    cachedInput: take(usage.cachedInput),
    cacheWrite: take(usage.cacheWrite),
    cacheWriteLong: take(usage.cacheWriteLong),
    output,
    reasoning: Math.min(usage.reasoning, output),
  }
  let clamped = output < usage.output || totalInput(bounded) < totalInput(usage)
  for (const tool of HOSTED_TOOLS) {
    const calls = usage[tool] ?? 0
    if (calls <= MOST_CALLS) continue
    bounded[tool] = MOST_CALLS
    clamped = true
  }
  return { usage: bounded, clamped }
}
