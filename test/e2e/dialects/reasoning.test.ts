/** Reasoning reaches the client, and its signature returns to the upstream that made it, in the same position. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { converse, RESULT } from './converse.ts'
import { CELLS, type DialectName, type ScriptedAnswer } from './scripted-answer.ts'
import { scripted } from './scripted-upstream.ts'
import { startWorld, type World } from './world.ts'

let world: World
beforeAll(async () => {
  world = await startWorld()
})
afterAll(() => world?.close())

const OPAQUE = 'T3BhcXVlLXN0YXRlLW9mLXRoZS12ZW5kb3I='
const CALL = { id: 'call_w', name: 'weather', input: '{"city":"Ulm"}' }

/** How each dialect requests the depth of reasoning. */
const REQUESTED: Record<DialectName, object> = {
  chat: { reasoning_effort: 'high' },
  responses: {
    reasoning: expect.objectContaining({ effort: 'high' }),
    include: expect.arrayContaining(['reasoning.encrypted_content']),
    store: false,
  },
  messages: { thinking: { type: 'adaptive', display: 'summarized' }, output_config: { effort: 'high' } },
}

/** The end of the second request: the upstream's own answer and the tool result. */
function historyOf(upstream: DialectName, { reasoning, opaque }: ScriptedAnswer): object {
  switch (upstream) {
    case 'chat':
      return {
        messages: [
          expect.anything(),
          expect.objectContaining({
            role: 'assistant',
            reasoning_details: [{ type: 'reasoning.text', text: reasoning ?? '', signature: opaque }],
            tool_calls: [
              { id: 'call_w', type: 'function', function: { name: 'weather', arguments: CALL.input } },
            ],
          }),
          { role: 'tool', tool_call_id: 'call_w', content: RESULT },
        ],
      }
    case 'responses':
      return {
        input: [
          expect.anything(),
          expect.objectContaining({
            type: 'reasoning',
            summary: reasoning === undefined ? [] : [{ type: 'summary_text', text: reasoning }],
            encrypted_content: opaque,
          }),
          expect.objectContaining({
            type: 'function_call',
            call_id: 'call_w',
            name: 'weather',
            arguments: CALL.input,
          }),
          expect.objectContaining({ type: 'function_call_output', call_id: 'call_w', output: RESULT }),
        ],
      }
    case 'messages':
      return {
        messages: [
          expect.anything(),
          {
            role: 'assistant',
            content: [
              { type: 'thinking', thinking: reasoning ?? '', signature: opaque },
              expect.objectContaining({
                type: 'tool_use',
                id: 'call_w',
                name: 'weather',
                input: { city: 'Ulm' },
              }),
            ],
          },
          {
            role: 'user',
            content: [expect.objectContaining({ type: 'tool_result', tool_use_id: 'call_w' })],
          },
        ],
      }
  }
}

describe.each(CELLS)('$client over $upstream, stream: $stream', ({ client, upstream, stream }) => {
  const twoTurns = (answer: ScriptedAnswer) => {
    let turn = 0
    world.upstream.answer(scripted(() => (turn++ === 0 ? { ...answer, calls: [CALL] } : { text: 'Sunny.' })))
    return converse(world, client, upstream, stream)
  }

  it('reasoning with a signature', async () => {
    const answer = { reasoning: 'The user wants weather.', opaque: OPAQUE }
    const [first, second] = await twoTurns(answer)
    expect(first).toMatchObject({ reasoning: answer.reasoning, calls: [CALL] })
    expect(second.text).toBe('Sunny.')
    const sent = world.sent()
    expect(sent).toMatchObject(historyOf(upstream, answer))
    expect(sent).toMatchObject(REQUESTED[upstream])
    expect(world.dropped()).toEqual([])
    world.passed(client, upstream, 'reasoning')
  })

  it('a signature without text', async () => {
    const [first, second] = await twoTurns({ opaque: OPAQUE })
    expect(first).toMatchObject({ reasoning: '', calls: [CALL] })
    expect(second.text).toBe('Sunny.')
    expect(world.sent()).toMatchObject(historyOf(upstream, { opaque: OPAQUE }))
  })
})
