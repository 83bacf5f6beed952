/** A story as a chat completion. */
import { COUNTS, type ScriptedAnswer, words } from './scripted-answer.ts'

const ENDS = { stop: 'stop', length: 'length', filter: 'content_filter' }
const HEAD = { id: 'chatcmpl-up', created: 1_790_000_000, model: 'upstream-model' }

export function chatBody(story: ScriptedAnswer): object {
  const details = detailsOf(story)
  const message = {
    role: 'assistant',
    content: story.text ?? null,
    refusal: null,
    ...(story.reasoning !== undefined && { reasoning_content: story.reasoning }),
    ...(details && { reasoning_details: details }),
    ...(story.calls && { tool_calls: story.calls.map(callOf) }),
  }
  const choice = { index: 0, message, logprobs: null, finish_reason: finishOf(story) }
  return { ...HEAD, object: 'chat.completion', choices: [choice], usage: usageOf(story) }
}

export function chatEvents(story: ScriptedAnswer): string[] {
  const chunk = (more: object) =>
    `data: ${JSON.stringify({ ...HEAD, object: 'chat.completion.chunk', ...more })}\n\n`
  const delta = (d: object, finish: string | null = null) =>
    chunk({ choices: [{ index: 0, delta: d, logprobs: null, finish_reason: finish }], usage: null })
  const details = detailsOf(story)
  const calls = (story.calls ?? []).flatMap((call, index) => {
    const { id, type, function: named } = callOf(call)
    const start = { index, id, type, function: { ...named, arguments: '' } }
    const pieces = call.input.match(/.{1,7}/gsu) ?? []
    return [start, ...pieces.map((piece) => ({ index, function: { arguments: piece } }))]
  })
  return [
    delta({ role: 'assistant', content: '', refusal: null }),
    ...(story.reasoning === undefined ? [] : [delta({ reasoning_content: story.reasoning })]),
    ...(details ? [delta({ reasoning_details: details })] : []),
    ...words(story.text ?? '').map((content) => delta({ content })),
    ...calls.map((call) => delta({ tool_calls: [call] })),
    delta({}, finishOf(story)),
    chunk({ choices: [], usage: usageOf(story) }),
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
