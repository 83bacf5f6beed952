/** A scripted answer as a message. */
import { COUNTS, type ScriptedAnswer, words } from './scripted-answer.ts'

const ENDS = { stop: 'end_turn', length: 'max_tokens', filter: 'refusal' }
const HEAD = { id: 'msg_up', type: 'message', role: 'assistant', model: 'upstream-model' }

export function messagesBody(answer: ScriptedAnswer): object {
  const content = [
    ...(thinks(answer)
      ? [{ type: 'thinking', thinking: answer.reasoning ?? '', signature: answer.opaque ?? '' }]
      : []),
    ...(answer.text === undefined ? [] : [{ type: 'text', text: answer.text }]),
    ...(answer.calls ?? []).map(({ id, name, input }) => ({
      type: 'tool_use',
      id,
      name,
      input: JSON.parse(input),
    })),
  ]
  return { ...HEAD, content, ...endOf(answer), usage: usageOf(answer) }
}

export function messagesEvents(answer: ScriptedAnswer): string[] {
  const event = (type: string, more: object = {}) =>
    `event: ${type}\ndata: ${JSON.stringify({ type, ...more })}\n\n`
  let index = 0
  const block = (content_block: object, deltas: object[]) => {
    const at = { index: index++ }
    return [
      event('content_block_start', { ...at, content_block }),
      ...deltas.map((delta) => event('content_block_delta', { ...at, delta })),
      event('content_block_stop', at),
    ]
  }
  const { cache_read_input_tokens, cache_creation_input_tokens, input_tokens } = usageOf(answer)
  const started = { input_tokens, cache_read_input_tokens, cache_creation_input_tokens, output_tokens: 1 }
  const message = { ...HEAD, content: [], stop_reason: null, stop_sequence: null, usage: started }
  return [
    event('message_start', { message }),
    event('ping'),
    ...(thinks(answer)
      ? block({ type: 'thinking', thinking: '', signature: '' }, [
          ...(answer.reasoning ? [{ type: 'thinking_delta', thinking: answer.reasoning }] : []),
          { type: 'signature_delta', signature: answer.opaque ?? '' },
        ])
      : []),
    ...(answer.text === undefined
      ? []
      : block(
          { type: 'text', text: '' },
          words(answer.text).map((text) => ({ type: 'text_delta', text })),
        )),
    ...(answer.calls ?? []).flatMap(({ id, name, input }) =>
      block(
        { type: 'tool_use', id, name, input: {} },
        (input.match(/.{1,7}/gsu) ?? []).map((partial_json) => ({ type: 'input_json_delta', partial_json })),
      ),
    ),
    event('message_delta', { delta: endOf(answer), usage: usageOf(answer) }),
    event('message_stop'),
  ]
}

const thinks = ({ reasoning, opaque }: ScriptedAnswer) => reasoning !== undefined || opaque !== undefined

function endOf({ calls, end = 'stop', stopSequence }: ScriptedAnswer): object {
  const stop_reason = calls ? 'tool_use' : stopSequence === undefined ? ENDS[end] : 'stop_sequence'
  return { stop_reason, stop_sequence: stopSequence ?? null }
}

function usageOf({ counts = COUNTS }: ScriptedAnswer) {
  return {
    input_tokens: counts.input - counts.cached - counts.written,
    cache_read_input_tokens: counts.cached,
    cache_creation_input_tokens: counts.written,
    output_tokens: counts.output,
    output_tokens_details: { thinking_tokens: counts.reasoning },
  }
}
