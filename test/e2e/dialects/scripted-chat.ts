/** A scripted answer as a chat completion. */
import { COUNTS, type ScriptedAnswer, words } from './scripted-answer.ts'

const ENDS = { stop: 'stop', length: 'length', filter: 'content_filter' }
const HEAD = { id: 'chatcmpl-up', created: 1_790_000_000, model: 'upstream-model' }

export function chatBody(answer: ScriptedAnswer): object {
  const details = detailsOf(answer)
  const message = {
    role: 'assistant',
    content: answer.text ?? null,
    refusal: null,
    ...(answer.reasoning !== undefined && { reasoning_content: answer.reasoning }),
    ...(details && { reasoning_details: details }),
    ...(answer.calls && { tool_calls: answer.calls.map(callOf) }),
  }
  const choice = { index: 0, message, logprobs: null, finish_reason: finishOf(answer) }
  return { ...HEAD, object: 'chat.completion', choices: [choice], usage: usageOf(answer) }
}

export function chatEvents(answer: ScriptedAnswer): string[] {
  const chunk = (more: object) =>
    `data: ${JSON.stringify({ ...HEAD, object: 'chat.completion.chunk', ...more })}\n\n`
  const delta = (d: object, finish: string | null = null) =>
    chunk({ choices: [{ index: 0, delta: d, logprobs: null, finish_reason: finish }], usage: null })
  const details = detailsOf(answer)
  const calls = (answer.calls ?? []).flatMap((call, index) => {
    const { id, type, function: named } = callOf(call)
    const start = { index, id, type, function: { ...named, arguments: '' } }
    const pieces = call.input.match(/.{1,7}/gsu) ?? []
    return [start, ...pieces.map((piece) => ({ index, function: { arguments: piece } }))]
  })
  return [
    delta({ role: 'assistant', content: '', refusal: null }),
    ...(answer.reasoning === undefined ? [] : [delta({ reasoning_content: answer.reasoning })]),
    ...(details ? [delta({ reasoning_details: details })] : []),
    ...words(answer.text ?? '').map((content) => delta({ content })),
    ...calls.map((call) => delta({ tool_calls: [call] })),
    delta({}, finishOf(answer)),
    chunk({ choices: [], usage: usageOf(answer) }),
    'data: [DONE]\n\n',
  ]
}

const finishOf = ({ calls, end = 'stop' }: ScriptedAnswer) => (calls ? 'tool_calls' : ENDS[end])

const callOf = ({ id, name, input }: NonNullable<ScriptedAnswer['calls']>[number]) => ({
  id,
  type: 'function',
  function: { name, arguments: input },
})

function detailsOf({ reasoning, opaque }: ScriptedAnswer): object[] | undefined {
  if (opaque === undefined) return undefined
  return [{ type: 'reasoning.text', text: reasoning ?? '', signature: opaque }]
}

function usageOf({ counts = COUNTS }: ScriptedAnswer): object {
  return {
    prompt_tokens: counts.input,
    completion_tokens: counts.output,
    total_tokens: counts.input + counts.output,
    prompt_tokens_details: { cached_tokens: counts.cached, cache_write_tokens: counts.written },
    completion_tokens_details: { reasoning_tokens: counts.reasoning },
  }
}
