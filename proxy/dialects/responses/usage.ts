import { totalInput, type Usage, zeroUsage } from '../../../contract/usage.ts'
import { isRecord, isText, listOf } from '../core/json/value.ts'
import { count, isImpossible } from '../core/neutral/token-count.ts'
import type * as wire from './wire.ts'

/**
 * The `usage` object of a response in disjoint kinds. Undefined if it lacks one of the two totals, because the missing
 * one would be free, or if one of its counts is impossible.
 */
export function readUsage(value: unknown): Usage | undefined {
  if (!isRecord(value)) return undefined
  const input = count(value.input_tokens)
  const output = count(value.output_tokens)
  if (input === undefined || output === undefined) return undefined

  const inputDetails = isRecord(value.input_tokens_details) ? value.input_tokens_details : {}
  const writes = isRecord(inputDetails.cache_write_tokens_details)
    ? inputDetails.cache_write_tokens_details
    : {}
  const outputDetails = isRecord(value.output_tokens_details) ? value.output_tokens_details : {}
  const parts = [
    inputDetails.cached_tokens,
    inputDetails.cache_write_tokens,
    writes.ttl_12h_tokens,
    outputDetails.reasoning_tokens,
  ]
  if (parts.some(isImpossible)) return undefined

  const cachedInput = Math.min(count(inputDetails.cached_tokens) ?? 0, input)
  const written = Math.min(count(inputDetails.cache_write_tokens) ?? 0, input - cachedInput)
  const cacheWriteLong = Math.min(count(writes.ttl_12h_tokens) ?? 0, written)
  return {
    ...zeroUsage(),
    input: input - cachedInput - written,
    cachedInput,
    cacheWrite: written - cacheWriteLong,
    cacheWriteLong,
    output,
    reasoning: Math.min(count(outputDetails.reasoning_tokens) ?? 0, output),
  }
}

/** The number of images in the output of a response; its usage does not contain it. */
export function imagesIn(output: unknown): number {
  const isImage = (item: unknown) =>
    isRecord(item) && item.type === 'image_generation_call' && isText(item.result)
  return listOf(output).filter(isImage).length
}

/** In responses, cached tokens are part of the input and reasoning is part of the output. */
export function writeUsage(usage: Usage): wire.Usage {
  const input = totalInput(usage)
  const { cacheWrite, cacheWriteLong } = usage
  return {
    input_tokens: input,
    input_tokens_details: {
      cached_tokens: usage.cachedInput,
      cache_write_tokens: cacheWrite + cacheWriteLong,
      cache_write_tokens_details:
        cacheWriteLong > 0 ? { ttl_30m_tokens: cacheWrite, ttl_12h_tokens: cacheWriteLong } : undefined,
    },
    output_tokens: usage.output,
    output_tokens_details: { reasoning_tokens: usage.reasoning },
    total_tokens: input + usage.output,
  }
}
