/** The tool runners of the official SDKs and an agent framework, to their last word, over every upstream. */
import { generateObject } from 'ai'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { z } from 'zod'
import { json, type Script } from '../../harness/upstream.ts'
import { frameworkModel, QUESTION, runFramework, runTools } from './agents.ts'
import { CELLS, DIALECTS, type DialectName, type ScriptedAnswer } from './scripted-answer.ts'
import { scripted } from './scripted-upstream.ts'
import { startWorld, type World } from './world.ts'

let world: World
beforeAll(async () => {
  world = await startWorld()
})
afterAll(() => world?.close())

const CALLS = [
  { id: 'call_u', name: 'weather', input: '{"city":"Ulm"}' },
  { id: 'call_l', name: 'weather', input: '{"city":"Łódź"}' },
]
const RESULTS = ['Ulm: 20 degrees', 'Łódź: 20 degrees']

/** Calls the tool for both cities, and repeats the results when it has them. */
const model = (first: ScriptedAnswer): Script => {
  const tell = scripted((body) => {
    const text = JSON.stringify(body)
    return RESULTS.every((result) => text.includes(result)) ? { text: RESULTS.join(', ') } : first
  })
  return (call, res) => {
    const { thread } = JSON.parse(call.body.toString()) as { thread?: object }
    return thread === undefined ? tell(call, res) : json(res, 400, NO_THREADS)
  }
}

/** The runner of Anthropic's SDK first asks the API to keep the conversation. This upstream keeps none. */
const NO_THREADS = {
  type: 'error',
  error: {
    type: 'invalid_request_error',
    message: 'Threads do not work here',
    details: { error_code: 'thread_unsupported_request', unsupported: ['hipaa'] },
  },
}

/** The conversation as the upstream must get it at last. */
const HISTORY: Record<DialectName, object> = {
  chat: {
    messages: [
      expect.objectContaining({ role: 'user' }),
      expect.objectContaining({
        role: 'assistant',
        content: 'Let me look.',
        tool_calls: CALLS.map(({ id, name, input }) =>
          expect.objectContaining({ id, type: 'function', function: { name, arguments: input } }),
        ),
      }),
      expect.objectContaining({ role: 'tool', tool_call_id: 'call_u' }),
      expect.objectContaining({ role: 'tool', tool_call_id: 'call_l' }),
    ],
  },
  responses: {
    input: [
      expect.objectContaining({ role: 'user' }),
      expect.objectContaining({ role: 'assistant' }),
      ...CALLS.map(({ id, name, input }) =>
        expect.objectContaining({ type: 'function_call', call_id: id, name, arguments: input }),
      ),
      ...CALLS.map(({ id }, n) =>
        expect.objectContaining({
          type: 'function_call_output',
          call_id: id,
          output: expect.stringContaining(RESULTS[n] ?? ''),
        }),
      ),
    ],
  },
  messages: {
    messages: [
      expect.objectContaining({ role: 'user' }),
      {
        role: 'assistant',
        content: [
          expect.objectContaining({ type: 'text', text: 'Let me look.' }),
          ...CALLS.map(({ id, name, input }) =>
            expect.objectContaining({ type: 'tool_use', id, name, input: JSON.parse(input) }),
          ),
        ],
      },
      {
        role: 'user',
        content: CALLS.map(({ id }) => expect.objectContaining({ type: 'tool_result', tool_use_id: id })),
      },
    ],
  },
}

const WHOLE = { text: RESULTS.join(', '), asked: ['Ulm', 'Łódź'] }

describe.each(CELLS)('$client over $upstream, stream: $stream', ({ client, upstream, stream }) => {
  it('the tool runner of the SDK', async () => {
    world.upstream.answer(model({ text: 'Let me look.', calls: CALLS }))
    const told = await runTools(world, client, upstream, stream)
    expect({ ...told, asked: told.asked.toSorted().reverse() }).toEqual({ ...WHOLE, asked: ['Łódź', 'Ulm'] })
    const sent = world.sent()
    expect(sent).toMatchObject(HISTORY[upstream])
    expect(JSON.stringify(sent)).toContain(QUESTION)
    world.passed(client, upstream, 'tools')
    world.passed(client, upstream, 'parallel tools')
  })
})

const CLIENTS = [...DIALECTS, 'compatible'] as const
const FRAMEWORK = CLIENTS.flatMap((client) =>
  DIALECTS.flatMap((upstream) => [false, true].map((stream) => ({ client, upstream, stream }))),
)

describe.each(FRAMEWORK)(
  'a framework: $client over $upstream, stream: $stream',
  ({ client, upstream, stream }) => {
    it('an agent with tools', async () => {
      const story = { reasoning: 'Two cities.', opaque: 'U0VBTA==', text: 'Let me look.', calls: CALLS }
      world.upstream.answer(model(story))
      const told = await runFramework(frameworkModel(world, client, upstream), stream)
      expect(told).toMatchObject({ ...WHOLE, input: 200, output: 60 })
      // Its client for chat knows no reasoning.
      if (client !== 'chat') expect(told.reasoning).toBe('Two cities.')
      const { messages, input } = world.sent() as { messages?: object[]; input?: object[] }
      const text = JSON.stringify(messages ?? input)
      for (const result of RESULTS) expect(text).toContain(result)
      // The upstream has its own seal back where the framework keeps it.
      if (client !== 'chat' && client !== 'compatible') expect(text).toContain('U0VBTA==')
    })
  },
)

describe.each(CLIENTS)('a framework: %s', (client) => {
  it.each(DIALECTS)('an object over %s', async (upstream) => {
    world.upstream.answer(scripted({ text: '{"city":"Ulm","degrees":20}' }))
    const schema = z.object({ city: z.string(), degrees: z.number() })
    const { object } = await generateObject({
      model: frameworkModel(world, client, upstream),
      schema,
      prompt: QUESTION,
      maxRetries: 0,
    })
    expect(object).toEqual({ city: 'Ulm', degrees: 20 })
  })
})
