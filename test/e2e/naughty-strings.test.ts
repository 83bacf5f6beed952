/** Strings that have broken other programs, in every field where a client may write text. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { isRecord } from '../../proxy/dialects/core/json/value.ts'
import { type RunningGateway, startGateway, until } from '../harness/gateway.ts'
import { type Answer, call, jsonHeaders } from '../harness/http.ts'
import { apiKey, channel, route } from '../harness/resources.ts'
import { completion, json, type ScriptedUpstream, startUpstream } from '../harness/upstream.ts'
import { NAUGHTY } from './naughty.ts'

const KEY = 'sk-naughty-strings'
const UPSTREAMS = ['chat', 'responses', 'messages'] as const
const TYPES = { chat: 'chat_completion', responses: 'responses', messages: 'messages' } as const
const PATHS = { chat: '/v1/chat/completions', responses: '/v1/responses', messages: '/v1/messages' } as const

let gateway: RunningGateway
let upstream: ScriptedUpstream
let requestCount = 0

beforeAll(async () => {
  upstream = await startUpstream(({ path }, res) => json(res, 200, answerAt(path)))
  const resources = UPSTREAMS.map(
    (name) => channel(name, upstream.baseURL, { type: TYPES[name] }) + route(name, `to-${name}`, [name]),
  )
  const vectors =
    channel('vectors', upstream.baseURL, { type: 'embeddings' }) + route('v', 'vectors', ['vectors'])
  gateway = await startGateway({ 'all.yaml': apiKey('caller', KEY) + vectors + resources.join('') })
})

/** Each request must be one log line, whatever it contained. */
afterAll(async () => {
  await until(() => gateway.requests().length >= requestCount || undefined, 'a line for each request')
  const lines = gateway.output().split('\n')
  const first = lines.findIndex((line) => line.startsWith('{"'))
  const otherLines = lines.slice(first).filter((line) => line.startsWith('{') && !isRecord(JSON.parse(line)))
  expect(gateway.requests()).toHaveLength(requestCount)
  expect(otherLines).toEqual([])
  expect(gateway.child.exitCode).toBeNull()
  await gateway.stop()
  await upstream.close()
})

function answerAt(path: string): object {
  if (path.includes('embeddings')) {
    const data = [{ object: 'embedding', index: 0, embedding: [0.5] }]
    return { object: 'list', model: 'm', data, usage: { prompt_tokens: 1, total_tokens: 1 } }
  }
  if (path.includes('chat'))
    return completion('m', 'Hi', { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 })
  const usage = { input_tokens: 1, output_tokens: 1, total_tokens: 2 }
  const message = { id: 'msg_1', role: 'assistant', model: 'm', usage }
  if (path.includes('messages'))
    return { ...message, type: 'message', content: [{ type: 'text', text: 'Hi' }], stop_reason: 'end_turn' }
  const content = [{ type: 'output_text', text: 'Hi', annotations: [] }]
  const output = [{ id: 'msg_1', type: 'message', role: 'assistant', status: 'completed', content }]
  return { id: 'resp_1', object: 'response', created_at: 1, status: 'completed', model: 'm', output, usage }
}

async function post(path: string, body: object): Promise<Answer> {
  requestCount++
  return call(gateway.base + path, { body: JSON.stringify(body), headers: jsonHeaders(KEY) })
}

/** A conversation with the text in each part. */
function conversation(client: (typeof UPSTREAMS)[number], model: string, text: string): object {
  const schema = { type: 'object', properties: { [text]: { type: 'string', description: text } } }
  const input = { [text]: text }
  const named = { name: 'look', description: text }
  if (client === 'chat') {
    const called = {
      id: 'call_1',
      type: 'function',
      function: { name: 'look', arguments: JSON.stringify(input) },
    }
    const messages = [
      { role: 'system', content: text },
      { role: 'user', content: [{ type: 'text', text }] },
      { role: 'assistant', content: text, tool_calls: [called] },
      { role: 'tool', tool_call_id: 'call_1', content: text },
      { role: 'user', content: text },
    ]
    return { model, messages, tools: [{ type: 'function', function: { ...named, parameters: schema } }] }
  }
  if (client === 'responses') {
    const items = [
      { type: 'message', role: 'user', content: [{ type: 'input_text', text }] },
      { type: 'function_call', call_id: 'call_1', name: 'look', arguments: JSON.stringify(input) },
      { type: 'function_call_output', call_id: 'call_1', output: text },
      { type: 'message', role: 'user', content: text },
    ]
    const tools = [{ type: 'function', ...named, parameters: schema, strict: false }]
    return { model, instructions: text, input: items, tools, store: false }
  }
  const messages = [
    { role: 'user', content: [{ type: 'text', text }] },
    { role: 'assistant', content: [{ type: 'tool_use', id: 'call_1', name: 'look', input }] },
    {
      role: 'user',
      content: [
        { type: 'tool_result', tool_use_id: 'call_1', content: text },
        { type: 'text', text },
      ],
    },
  ]
  return { model, max_tokens: 9, system: text, messages, tools: [{ ...named, input_schema: schema }] }
}

/** All texts in a body. */
function textsIn(value: unknown): string[] {
  if (typeof value === 'string') return [value]
  if (Array.isArray(value)) return value.flatMap(textsIn)
  return isRecord(value) ? Object.values(value).flatMap(textsIn) : []
}

describe.each(UPSTREAMS)('sent by %s', (client) => {
  it.each(UPSTREAMS.filter((other) => other !== client))('are converted for %s', async (other) => {
    for (const text of NAUGHTY) {
      const answer = await post(PATHS[client], conversation(client, `to-${other}`, text))
      expect({ text, status: answer.status, body: answer.status === 200 || answer.text }).toMatchObject({
        status: 200,
      })
      const sent = JSON.parse(upstream.calls.at(-1)?.body.toString() ?? '')
      const times = textsIn(sent).filter((one) => one === text || one === text.toWellFormed()).length
      // System prompt, two questions, tool result and two descriptions; some APIs refuse blank texts.
      const minimum = text.trim() === '' ? 2 : 6
      expect({ text, enough: times >= minimum }).toEqual({ text, enough: true })
    }
  })

  it('pass on the byte lane', async () => {
    for (const text of NAUGHTY) {
      const body = conversation(client, `to-${client}`, text)
      const answer = await post(PATHS[client], body)
      expect({ text, status: answer.status }).toEqual({ text, status: 200 })
      expect(upstream.calls.at(-1)?.body.toString()).toBe(JSON.stringify(body))
    }
  })

  it('in names are accepted or refused cleanly', async () => {
    for (const text of NAUGHTY) {
      const plain = conversation(client, `to-${client}`, 'x')
      for (const more of [
        { model: text },
        { service_tier: text },
        { user: text, metadata: { [text]: text } },
        { [text]: text },
      ]) {
        const { status, text: received } = await post(PATHS[client], { ...plain, ...more })
        expect({ more, status }).toEqual({
          more,
          status: expect.toSatisfy((n: number) => n === 200 || (n >= 400 && n <= 502 && n !== 500)),
        })
        if (status === 200) continue
        const { error } = JSON.parse(received)
        expect({ more, error }).toEqual({
          more,
          error: expect.objectContaining({ message: expect.stringMatching(/^[^\n]+$/) }),
        })
        if (client === 'messages') expect(JSON.parse(received).type).toBe('error')
      }
    }
  })
})

it('pass as inputs of embeddings', async () => {
  for (const text of NAUGHTY) {
    const body = { model: 'vectors', input: text, user: text }
    const { status } = await post('/v1/embeddings', body)
    expect({ text, status }).toEqual({ text, status: 200 })
    expect(upstream.calls.at(-1)?.body.toString()).toBe(JSON.stringify(body))
  }
})
