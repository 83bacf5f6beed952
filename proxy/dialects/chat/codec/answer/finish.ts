/** Maps chat's finish reasons to the neutral ones and back. */

import { isRecord } from '../../../core/json/value.ts'
import type { Finish } from '../../../core/neutral/types.ts'
import type * as wire from '../../wire.ts'

const REASONS = new Map<unknown, Finish['reason']>([
  ['stop', 'stop'],
  ['length', 'length'],
  ['max_tokens', 'length'],
  ['model_length', 'length'],
  ['tool_calls', 'tool-calls'],
  ['function_call', 'tool-calls'],
  ['content_filter', 'content-filter'],
])
/** Reasons of upstreams that failed in the middle of an answer. */
const FAILURES = new Set<unknown>(['error', 'insufficient_system_resource'])

const WORDS: Record<Finish['reason'], wire.FinishReason> = {
  stop: 'stop',
  length: 'length',
  'tool-calls': 'tool_calls',
  'content-filter': 'content_filter',
}

export function isFailure(reason: unknown): boolean {
  return FAILURES.has(reason)
}

/** The choice in which an upstream reports that it failed (OpenRouter, DeepSeek, Mistral). */
export function brokenChoice(choices: readonly unknown[]): Record<string, unknown> | undefined {
  return choices.filter(isRecord).find((choice) => choice.error || isFailure(choice.finish_reason))
}

/** Reads an unknown word as `stop`, and makes the reason agree with the calls. */
export function readFinish(word: unknown, hasCalls: boolean): Finish {
  const reason = REASONS.get(word) ?? 'stop'
  if (reason === 'stop' && hasCalls) return { reason: 'tool-calls' }
  if (reason === 'tool-calls' && !hasCalls) return { reason: 'stop' }
  return { reason }
}

/** `legacy`: the client declared `functions` instead of `tools`. */
export function writeFinish({ reason }: Finish, legacy: boolean): wire.FinishReason {
  return legacy && reason === 'tool-calls' ? 'function_call' : WORDS[reason]
}
