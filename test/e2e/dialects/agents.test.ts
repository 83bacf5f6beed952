/** Complete runs of the official SDKs' tool runners and of an agent framework, over every upstream. */
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

/** Calls the tool for both cities, then answers with the results. */
const model = (first: ScriptedAnswer): Script => {
  const answer = scripted((body) => {
    const text = JSON.stringify(body)
    return RESULTS.every((result) => text.includes(result)) ? { text: RESULTS.join(', ') } : first
  })
  return (call, res) => {
    const { thread } = JSON.parse(call.body.toString()) as { thread?: object }
    return thread === undefined ? answer(call, res) : json(res, 400, NO_THREADS)
  }
}

/** The runner of Anthropic's SDK first asks the API for a stored thread, which this upstream does not support. */
const NO_THREADS = {
  type: 'error',
  error: {
    type: 'invalid_request_error',
    message: 'Threads do not work here',
    details: { error_code: 'thread_unsupported_request', unsupported: ['hipaa'] },
  },
}

/** The conversation in the upstream's last request. */
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

const WHOLE = { text: RESULTS.join(', '), cities: ['Ulm', 'Łódź'] }

describe.each(CELLS)('$client over $upstream, stream: $stream', ({ client, upstream, stream }) => {
  it('runs the SDK’s tool runner', async () => {
    world.upstream.answer(model({ text: 'Let me look.', calls: CALLS }))
    const run = await runTools(world, client, upstream, stream)
    expect({ ...run, cities: run.cities.toSorted().reverse() }).toEqual({ ...WHOLE, cities: ['Łódź', 'Ulm'] })
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
    it('runs an agent with tools', async () => {
      const answer = { reasoning: 'Two cities.', opaque: 'U0VBTA==', text: 'Let me look.', calls: CALLS }
      world.upstream.answer(model(answer))
      const run = await runFramework(frameworkModel(world, client, upstream), stream)
      expect(run).toMatchObject({ ...WHOLE, input: 200, output: 60 })
      // The framework's chat client ignores reasoning.
      if (client !== 'chat') expect(run.reasoning).toBe('Two cities.')
      const { messages, input } = world.sent() as { messages?: object[]; input?: object[] }
      const text = JSON.stringify(messages ?? input)
      for (const result of RESULTS) expect(text).toContain(result)
      // The upstream gets its signature back where the framework keeps it.
      if (client !== 'chat' && client !== 'compatible') expect(text).toContain('U0VBTA==')
    })
  },
)

describe.each(CLIENTS)('a framework: %s', (client) => {
  it.each(DIALECTS)('generates an object over %s', async (upstream) => {
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
