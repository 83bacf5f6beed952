/** Maps this dialect's stop reasons to the neutral ones and back. */

import { isRecord } from '../../../core/json/value.ts'
import type { Finish } from '../../../core/neutral/types.ts'
import type * as wire from '../../wire.ts'

const REASONS: Record<wire.StopReason, Finish['reason']> = {
  end_turn: 'stop',
  stop_sequence: 'stop',
  pause_turn: 'stop',
  tool_use: 'tool-calls',
  max_tokens: 'length',
  model_context_window_exceeded: 'length',
  compaction: 'length',
  refusal: 'content-filter',
}
const WORDS = { 'tool-calls': 'tool_use', length: 'max_tokens', 'content-filter': 'refusal' } as const
/** Words that are no more precise than the neutral reason. */
const PLAIN = new Set(['end_turn', 'stop_sequence', 'tool_use', 'max_tokens', 'refusal'])

/**
 * `message` is a whole message or the `delta` of a message_delta. A stop with tool calls is `tool-calls`, whatever the
 * upstream reported, and an unknown word is a stop.
 */
export function readFinish(message: Record<string, unknown>, hasCalls: boolean): Finish {
  const { stop_reason: word, stop_sequence: sequence, stop_details: details } = message
  const reported = isStopReason(word) ? REASONS[word] : 'stop'
  const stopped = reported === 'stop' || reported === 'tool-calls'
  const reason = stopped ? (hasCalls ? 'tool-calls' : 'stop') : reported
  const explanation = isRecord(details) ? details.explanation : undefined
  return {
    reason,
    ...(typeof word === 'string' && !PLAIN.has(word) && { raw: word }),
    ...(typeof sequence === 'string' && { stopSequence: sequence }),
    ...(reason === 'content-filter' && typeof explanation === 'string' && { explanation }),
  }
}

/** The three stop fields. `refused`: the answer has a refusal as text, so the stop reason must report it. */
export function writeFinish(finish: Finish, refused: boolean): wire.Stop {
  const word = refused && finish.reason === 'stop' ? 'refusal' : wordOf(finish)
  const { explanation } = finish
  return {
    stop_reason: word,
    stop_sequence: word === 'stop_sequence' ? (finish.stopSequence ?? null) : null,
    stop_details: explanation === undefined ? null : { type: 'refusal', category: null, explanation },
  }
}

function isStopReason(word: unknown): word is wire.StopReason {
  return typeof word === 'string' && Object.hasOwn(REASONS, word)
}

function wordOf(finish: Finish): wire.StopReason {
  if (isStopReason(finish.raw) && REASONS[finish.raw] === finish.reason) return finish.raw
  if (finish.reason !== 'stop') return WORDS[finish.reason]
  return finish.stopSequence === undefined ? 'end_turn' : 'stop_sequence'
}
