import { type Usage, zeroUsage } from '../../../contract/usage.ts'
import { isRecord } from '../core/json/value.ts'
import { count, isImpossible, positive } from '../core/neutral/token-count.ts'
import type * as wire from './wire.ts'

/** Types of passes by the answering model, which the totals may exclude. Passes of other models are not listed. */
const OWN_ITERATIONS = ['message', 'compaction']

/**
 * The `usage` object of a message, split into disjoint kinds; the sum of its passes (`iterations`) if there are several.
 * Undefined when it lacks one of the two totals, because the missing half would not be charged, and when a count is
 * impossible.
 */
export function readUsage(value: unknown): Usage | undefined {
  if (!isRecord(value)) return undefined
  const total = readCounters(value)
  const tools = isRecord(value.server_tool_use) ? value.server_tool_use : {}
  const calls = positive({ webSearch: count(tools.web_search_requests) })
  const iterations = Array.isArray(value.iterations) ? value.iterations.filter(isRecord) : []
  // Another model answered, and the totals are those of its answer.
  if (total === undefined) return undefined
  if (iterations.some(({ type }) => type === 'fallback_message')) return { ...total, ...calls }
  const passes = iterations.filter(({ type }) => OWN_ITERATIONS.some((own) => own === type))
  if (passes.length === 0) return { ...total, ...calls }
  const sum = { ...zeroUsage(), reasoning: total.reasoning }
  for (const pass of passes) {
    const part = readCounters(pass)
    if (part === undefined) return { ...total, ...calls }
    sum.input += part.input
    sum.cachedInput += part.cachedInput
    sum.cacheWrite += part.cacheWrite
    sum.cacheWriteLong += part.cacheWriteLong
    sum.output += part.output
  }
  return { ...sum, ...calls }
}

function readCounters(value: Record<string, unknown>): Usage | undefined {
  const input = count(value.input_tokens)
  const output = count(value.output_tokens)
  if (input === undefined || output === undefined) return undefined
  const writes = isRecord(value.cache_creation) ? value.cache_creation : {}
  const details = isRecord(value.output_tokens_details) ? value.output_tokens_details : {}
  const { ephemeral_5m_input_tokens: short, ephemeral_1h_input_tokens: long } = writes
  const { cache_creation_input_tokens: creation, cache_read_input_tokens: read } = value
  if ([short, long, creation, read, details.thinking_tokens].some(isImpossible)) return undefined
  const written = count(creation) ?? (count(short) ?? 0) + (count(long) ?? 0)
  const cacheWriteLong = Math.min(count(long) ?? 0, written)
  return {
    ...zeroUsage(),
    input,
    cachedInput: count(read) ?? 0,
    cacheWrite: written - cacheWriteLong,
    cacheWriteLong,
    output,
    reasoning: Math.min(count(details.thinking_tokens) ?? 0, output),
  }
}

/**
 * Merges the raw usage objects of `message_start` and `message_delta`: the delta's counts are cumulative, and each that is
 * not null replaces the earlier one.
 */
export function mergeUsage(start: unknown, delta: unknown): unknown {
  if (!isRecord(delta)) return start
  const reported = Object.entries(delta).filter(([, value]) => value !== null)
  return { ...(isRecord(start) && start), ...Object.fromEntries(reported) }
}

/** The `usage` object of a message: the input excludes cached tokens, the output includes thinking. */
export function writeUsage(usage: Usage): wire.Usage {
  return {
    input_tokens: usage.input,
    cache_creation_input_tokens: usage.cacheWrite + usage.cacheWriteLong,
    cache_read_input_tokens: usage.cachedInput,
    cache_creation: {
      ephemeral_5m_input_tokens: usage.cacheWrite,
      ephemeral_1h_input_tokens: usage.cacheWriteLong,
    },
    output_tokens: usage.output,
    output_tokens_details: { thinking_tokens: usage.reasoning },
    ...(usage.webSearch !== undefined && {
      server_tool_use: { web_search_requests: usage.webSearch, web_fetch_requests: 0 },
    }),
  }
}

/** The tier in a raw usage object, by OpenAI's name; undefined when it has none. */
export function readTier(usage: unknown): string | undefined {
  if (!isRecord(usage)) return undefined
  if (usage.speed === 'fast') return 'fast'
  const { service_tier: tier } = usage
  if (typeof tier !== 'string') return undefined
  return tier === 'standard' ? 'default' : tier
}
