import type { ImageKind } from '../../../contract/sizes.ts'
import { type HostedTool, totalInput, type Usage, zeroUsage } from '../../../contract/usage.ts'
import { present } from '../../../kit/present.ts'
import { type Fields, isRecord, isText, listOf } from '../core/json/value.ts'
import { imageKindOf } from '../core/neutral/delivered.ts'
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

/** The images in the output of a response, and how the last one was made; its usage does not contain them. */
export function imagesIn(output: unknown): { images?: number; imageKind?: ImageKind } {
  const made = listOf(output)
    .filter(isRecord)
    .filter(({ type, result }) => type === 'image_generation_call' && isText(result))
  return made.length === 0 ? {} : { images: made.length, ...present({ imageKind: imageKindOf(made.at(-1)) }) }
}

/** Types of output items that stand for a billed call. */
const CALLS = new Map<unknown, HostedTool>([
  ['web_search_call', 'webSearch'],
  ['file_search_call', 'fileSearch'],
  ['code_interpreter_call', 'codeInterpreter'],
])

/** The usage of a response, with the calls of hosted tools in its output; its `usage` object does not contain them. */
export function usageOf({ usage: value, output }: Fields): Usage | undefined {
  const usage = readUsage(value)
  if (usage === undefined) return undefined
  const calls: { [tool in HostedTool]?: number } = {}
  for (const item of listOf(output).filter(isRecord)) {
    const tool = CALLS.get(item.type)
    // Of a web search only the search is billed, not the pages that it opens.
    const isFree = isRecord(item.action) && item.action.type !== 'search'
    if (tool !== undefined && !(tool === 'webSearch' && isFree)) calls[tool] = (calls[tool] ?? 0) + 1
  }
  return { ...usage, ...calls }
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
