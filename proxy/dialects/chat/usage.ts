import { type Usage, zeroUsage } from '../../../contract/usage.ts'
import { isRecord } from '../json/value.ts'

/**
 * The `usage` object of an answer or a chunk in disjoint kinds. Undefined when it lacks either of the two totals:
 * half a usage would charge the missing half as nothing.
 */
export function readUsage(value: unknown): Usage | undefined {
  if (!isRecord(value)) return undefined
  const prompt = count(value.prompt_tokens)
  const completion = count(value.completion_tokens)
  if (prompt === undefined || completion === undefined) return undefined

  const input = isRecord(value.prompt_tokens_details) ? value.prompt_tokens_details : {}
  // DeepSeek and Mistral count cache hits beside the details.
  const cached =
    count(input.cached_tokens) ?? count(value.prompt_cache_hit_tokens) ?? count(value.num_cached_tokens) ?? 0
  const cachedInput = Math.min(cached, prompt)
  const cacheWrite = Math.min(count(input.cache_write_tokens) ?? 0, prompt - cachedInput)

  const details = isRecord(value.completion_tokens_details) ? value.completion_tokens_details : {}
  const reasoning = count(details.reasoning_tokens) ?? 0
  // xAI leaves reasoning out of completion_tokens; its total tells.
  const output =
    count(value.total_tokens) === prompt + completion + reasoning ? completion + reasoning : completion
  return {
    ...zeroUsage(),
    input: prompt - cachedInput - cacheWrite,
    cachedInput,
    cacheWrite,
    output,
    reasoning: Math.min(reasoning, output),
  }
}

/** A number of tokens; undefined for what is none. */
function count(value: unknown): number | undefined {
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 0 ? value : undefined
}
