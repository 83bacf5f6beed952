import { totalInput, type Usage } from '../../../contract/usage.ts'
import { isRecord } from '../core/json/value.ts'
import { count, isImpossible, positive } from '../core/neutral/token-count.ts'
import type * as wire from './wire.ts'

/**
 * The `usage` object of an answer or a chunk, split into disjoint kinds. Undefined when it lacks one of the two totals,
 * because the missing half would not be charged, and when a count is impossible.
 */
export function readUsage(value: unknown): Usage | undefined {
  if (!isRecord(value)) return undefined
  const prompt = count(value.prompt_tokens)
  const completion = count(value.completion_tokens)
  if (prompt === undefined || completion === undefined) return undefined

  const input = isRecord(value.prompt_tokens_details) ? value.prompt_tokens_details : {}
  // DeepSeek and Mistral report cache hits outside the details.
  const hits = [input.cached_tokens, value.prompt_cache_hit_tokens, value.num_cached_tokens]
  const writes = isRecord(input.cache_write_tokens_details) ? input.cache_write_tokens_details : {}
  const details = isRecord(value.completion_tokens_details) ? value.completion_tokens_details : {}
  const parts = [...hits, input.cache_write_tokens, writes.ttl_12h_tokens, details.reasoning_tokens]
  parts.push(input.audio_tokens, input.image_tokens, details.audio_tokens)
  if (parts.some(isImpossible)) return undefined

  const cachedInput = Math.min(hits.map(count).find((hit) => hit !== undefined) ?? 0, prompt)
  const written = Math.min(count(input.cache_write_tokens) ?? 0, prompt - cachedInput)
  const cacheWriteLong = Math.min(count(writes.ttl_12h_tokens) ?? 0, written)
  const uncached = prompt - cachedInput - written
  const imageInput = Math.min(count(input.image_tokens) ?? 0, uncached)
  const audioInput = Math.min(count(input.audio_tokens) ?? 0, uncached - imageInput)
  const reasoning = count(details.reasoning_tokens) ?? 0
  // xAI excludes reasoning from completion_tokens, but not from the total.
  const output = value.total_tokens === prompt + completion + reasoning ? completion + reasoning : completion
  return {
    input: uncached,
    cachedInput,
    cacheWrite: written - cacheWriteLong,
    cacheWriteLong,
    output,
    reasoning: Math.min(reasoning, output),
    images: 0,
    ...positive({ imageInput, audioInput, audioOutput: Math.min(count(details.audio_tokens) ?? 0, output) }),
  }
}

/** The `usage` object of an answer: the inverse of readUsage. */
export function writeUsage(usage: Usage): wire.Usage {
  const { cachedInput, cacheWrite, cacheWriteLong, output, reasoning } = usage
  const { imageInput, audioInput, audioOutput } = usage
  const prompt = totalInput(usage)
  const details = { ttl_30m_tokens: cacheWrite, ttl_12h_tokens: cacheWriteLong }
  return {
    prompt_tokens: prompt,
    completion_tokens: output,
    total_tokens: prompt + output,
    prompt_tokens_details: {
      cached_tokens: cachedInput,
      cache_write_tokens: cacheWrite + cacheWriteLong,
      cache_write_tokens_details: cacheWriteLong > 0 ? details : undefined,
      audio_tokens: audioInput,
      image_tokens: imageInput,
    },
    completion_tokens_details: { reasoning_tokens: reasoning, audio_tokens: audioOutput },
  }
}
