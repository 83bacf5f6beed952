/** Text, tool calls, finish reasons and usage, for every client and upstream dialect. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { CELLS, COUNTS, type DialectName, type ScriptedAnswer } from './scripted-answer.ts'
import { scripted } from './scripted-upstream.ts'
import { ask, question, type RequestParams, startWorld, type World } from './world.ts'

let world: World
beforeAll(async () => {
  world = await startWorld()
})
afterAll(() => world?.close())

const SCHEMA = {
  type: 'object' as const,
  properties: { city: { type: 'string' } },
  required: ['city'],
}
const WITH_TOOLS: RequestParams = {
  chat: {
    messages: [
      { role: 'system', content: 'Be brief' },
      { role: 'user', content: 'Weather?' },
    ],
    tools: [
      { type: 'function', function: { name: 'get_weather', description: 'Of a city', parameters: SCHEMA } },
    ],
    tool_choice: 'required',
    max_completion_tokens: 2000,
  },
  responses: {
    instructions: 'Be brief',
    input: 'Weather?',
    tools: [
      { type: 'function', name: 'get_weather', description: 'Of a city', parameters: SCHEMA, strict: false },
    ],
    tool_choice: 'required',
    max_output_tokens: 2000,
  },
  messages: {
    system: 'Be brief',
    messages: [{ role: 'user', content: 'Weather?' }],
    tools: [{ name: 'get_weather', description: 'Of a city', input_schema: SCHEMA }],
    tool_choice: { type: 'any' },
    max_tokens: 2000,
  },
}

/** The upstream's request for it, from a client of another dialect. */
const SENT: Record<DialectName, object> = {
  chat: {
    model: 'chat',
    messages: [
      { role: 'system', content: 'Be brief' },
      { role: 'user', content: 'Weather?' },
    ],
    tools: [
      { type: 'function', function: { name: 'get_weather', description: 'Of a city', parameters: SCHEMA } },
    ],
    tool_choice: 'required',
    max_tokens: 2000,
  },
  responses: {
    model: 'responses',
    tools: [
      { type: 'function', name: 'get_weather', description: 'Of a city', parameters: SCHEMA, strict: false },
    ],
    tool_choice: 'required',
    max_output_tokens: 2000,
    store: false,
  },
  messages: {
    model: 'messages',
    messages: [{ role: 'user' }],
    tools: [{ name: 'get_weather', description: 'Of a city', input_schema: SCHEMA }],
    tool_choice: { type: 'any' },
    max_tokens: 2000,
  },
}

const ENDS: Record<'stop' | 'length' | 'tools', Record<DialectName, string>> = {
  stop: { chat: 'stop', responses: 'completed', messages: 'end_turn' },
  length: { chat: 'length', responses: 'max_output_tokens', messages: 'max_tokens' },
  tools: { chat: 'tool_calls', responses: 'completed', messages: 'tool_use' },
}

const FIRST = { id: 'call_a', name: 'get_weather', input: '{"city":"Łódź"}' }
const SECOND = { id: 'call_b', name: 'get_weather', input: '{"city":"Ulm"}' }

describe.each(CELLS)('$client over $upstream, stream: $stream', ({ client, upstream, stream }) => {
  const send = (params: RequestParams, answer: ScriptedAnswer) => {
    world.upstream.answer(scripted(answer))
    return ask(world, client, upstream, params, stream)
  }

  it('returns text and usage', async () => {
    const seen = await send(question('Hello'), { text: 'Good day, Łódź 🌧 to you' })
    expect(seen).toMatchObject({ text: 'Good day, Łódź 🌧 to you', calls: [], end: ENDS.stop[client] })
    expect(seen.counts).toEqual(COUNTS)
    expect(seen.id).not.toBe('')
    if (client !== upstream) expect(seen.model).toBe(upstream)
    world.passed(client, upstream, stream ? 'stream' : 'JSON')
    world.passed(client, upstream, 'usage')
  })

  it('returns an answer that reached its limit', async () => {
    const seen = await send(question('Hello'), { text: 'Once upon a', end: 'length' })
    expect(seen).toMatchObject({ text: 'Once upon a', end: ENDS.length[client] })
  })

  it('returns one call', async () => {
    const seen = await send(WITH_TOOLS, { calls: [FIRST] })
    expect(seen).toMatchObject({ text: '', calls: [FIRST], end: ENDS.tools[client] })
    if (client !== upstream) {
      const sent = world.sent()
      expect(sent).toMatchObject(SENT[upstream])
      expect(JSON.stringify(sent).match(/Be brief/g)).toHaveLength(1)
    }
    expect(world.dropped()).toEqual([])
    world.passed(client, upstream, 'tools')
  })

  it('returns text and two parallel calls', async () => {
    const seen = await send(WITH_TOOLS, { text: 'Let me look.', calls: [FIRST, SECOND] })
    expect(seen).toMatchObject({ text: 'Let me look.', calls: [FIRST, SECOND], end: ENDS.tools[client] })
    world.passed(client, upstream, 'parallel tools')
  })
})
