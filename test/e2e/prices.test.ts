/** What an upstream bills has a price: parts of the tokens, calls of its tools, long prompts. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type RunningGateway, startGateway } from '../harness/gateway.ts'
import { call, expectError, jsonHeaders } from '../harness/http.ts'
import { lineOf } from '../harness/ledger.ts'
import { account, apiKey, channel, route } from '../harness/resources.ts'
import { completion, json, type ScriptedUpstream, startUpstream } from '../harness/upstream.ts'

const PAYING = 'sk-paying-0123456789abcdef'
const UNLIMITED = 'sk-unlimited-0123456789'

let upstream: ScriptedUpstream
let gateway: RunningGateway

const FULL = {
  ...{ input: '1', output: '4', imageInput: '2', audioInput: '10', audioOutput: '20' },
  perCall: { webSearch: '0.01', fileSearch: '0.002', codeInterpreter: '0.03' },
  above: [{ tokens: 200_000, input: '2', output: '6' }],
}

beforeAll(async () => {
  upstream = await startUpstream()
  const origin = upstream.baseURL.replace('/v1', '')
  gateway = await startGateway({
    'all.yaml':
      channel('chat', upstream.baseURL) +
      channel('responses', upstream.baseURL, { type: 'responses' }) +
      channel('messages', origin, { type: 'messages', profile: 'anthropic' }) +
      ['chat', 'responses', 'messages']
        .map(
          (name) =>
            route(name, name, [name], { price: FULL }) +
            route(`${name}-plain`, `${name}-plain`, [name], { price: { input: '1', output: '4' } }),
        )
        .join('') +
      apiKey('paying', PAYING, { accountRef: { name: 'paying' } }) +
      account('paying', '100') +
      apiKey('unlimited', UNLIMITED, { accountRef: { name: 'unlimited' } }) +
      account('unlimited', '100', { enforcement: 'Unlimited' }),
  })
})

afterAll(async () => {
  await gateway?.stop()
  await upstream?.close()
})

const PATHS = { chat: 'chat/completions', responses: 'responses', messages: 'messages' }
type Client = keyof typeof PATHS
const BODIES: Record<Client, object> = {
  chat: { messages: [{ role: 'user', content: 'Hi' }] },
  responses: { input: 'Hi' },
  messages: { messages: [{ role: 'user', content: 'Hi' }], max_tokens: 100 },
}
const ask = (client: Client, model: string, more: object = {}, key = PAYING) =>
  call(`${gateway.base}/v1/${PATHS[client]}`, {
    headers: jsonHeaders(key),
    body: JSON.stringify({ model, ...BODIES[client], ...more }),
  })

function answersChat(usage: object) {
  upstream.answer((_, res) => json(res, 200, completion('m', 'Hello', usage)))
}

test('audio and images of a chat answer cost their own prices', async () => {
  answersChat({
    ...{ prompt_tokens: 1_000, completion_tokens: 500, total_tokens: 1_500 },
    prompt_tokens_details: { audio_tokens: 300, image_tokens: 200 },
    completion_tokens_details: { audio_tokens: 400 },
  })
  const line = await lineOf(gateway, await ask('chat', 'chat'))
  // 500 + 200 x 2 + 300 x 10 of the prompt, 100 x 4 + 400 x 20 of the answer, in micro-dollars.
  expect(line).toMatchObject({ settled: '0.0123', reason: 'usage' })
})

test('a kind without a price costs as a more expensive one, and is flagged', async () => {
  answersChat({
    ...{ prompt_tokens: 1_000, completion_tokens: 0, total_tokens: 1_000 },
    prompt_tokens_details: { audio_tokens: 300 },
  })
  const line = await lineOf(gateway, await ask('chat', 'chat-plain'))
  expect(line).toMatchObject({ settled: '0.0019', flags: ['unpriced_kind'] })
  const { text } = await call(`${gateway.admin}/metrics`)
  expect(text).toContain('sluice_usage_unpriced_total{model="chat-plain",kind="audioInput"} 1')
})

test('a long prompt costs the price of its length', async () => {
  answersChat({ prompt_tokens: 300_000, completion_tokens: 1_000, total_tokens: 301_000 })
  expect(await lineOf(gateway, await ask('chat', 'chat'))).toMatchObject({ settled: '0.606' })
})

test('web searches of a messages answer cost a price each', async () => {
  const usage = { input_tokens: 10, output_tokens: 5, server_tool_use: { web_search_requests: 3 } }
  upstream.answer((_, res) => {
    const about = { id: 'msg_1', type: 'message', role: 'assistant', model: 'm', stop_reason: 'end_turn' }
    json(res, 200, { ...about, content: [{ type: 'text', text: 'Hello' }], usage })
  })
  const tools = [{ type: 'web_search_20250305', name: 'web_search' }]
  expect(await lineOf(gateway, await ask('messages', 'messages', { tools }))).toMatchObject({
    settled: '0.03003',
    usage: { webSearch: 3 },
  })
})

test('tools of a responses answer cost a price for each call', async () => {
  upstream.answer((_, res) => {
    const usage = { input_tokens: 10, output_tokens: 5, total_tokens: 15 }
    const part = { type: 'output_text', text: 'Hello', annotations: [] }
    const output = [
      { type: 'web_search_call', id: 'ws_1', status: 'completed', action: { type: 'search', query: 'q' } },
      { type: 'file_search_call', id: 'fs_1', status: 'completed', queries: ['q'], results: null },
      { type: 'message', id: 'msg_1', role: 'assistant', status: 'completed', content: [part] },
    ]
    const about = { id: 'resp_1', object: 'response', created_at: 1, model: 'm', status: 'completed' }
    json(res, 200, { ...about, output, usage })
  })
  const tools = [{ type: 'web_search' }, { type: 'file_search', vector_store_ids: ['vs_1'] }]
  expect(await lineOf(gateway, await ask('responses', 'responses', { tools }))).toMatchObject({
    settled: '0.01203',
  })
})

test('a chat request with search options costs a search', async () => {
  answersChat({ prompt_tokens: 10, completion_tokens: 5, total_tokens: 15 })
  const line = await lineOf(gateway, await ask('chat', 'chat', { web_search_options: {} }))
  expect(line).toMatchObject({ settled: '0.01003', usage: { webSearch: 1 } })
})

test.each<[Client, object, number]>([
  ['responses', { tools: [{ type: 'web_search' }] }, 4 * 0.01],
  ['responses', { tools: [{ type: 'web_search' }], max_tool_calls: 2 }, 2 * 0.01],
  [
    'responses',
    { tools: [{ type: 'web_search' }, { type: 'file_search', vector_store_ids: [] }], max_tool_calls: 900 },
    100 * 0.012,
  ],
  ['messages', { tools: [{ type: 'web_search_20250305', name: 'web_search', max_uses: 7 }] }, 7 * 0.01],
  ['chat', { web_search_options: {} }, 0.01],
])('%s holds for the calls that %j allows', async (client, more, dollars) => {
  upstream.answer((_, res) => json(res, 500, {}))
  const holdOf = async (body: object) => Number((await lineOf(gateway, await ask(client, client, body))).hold)
  const difference = (await holdOf(more)) - (await holdOf({}))
  // The tools are a part of the prompt, too: less than a thousand tokens.
  expect(difference).toBeGreaterThanOrEqual(dollars)
  expect(difference).toBeLessThan(dollars + 0.001)
})

test.each<[Client, object]>([
  ['chat', { web_search_options: {} }],
  ['responses', { tools: [{ type: 'web_search_preview' }] }],
  ['responses', { tools: [{ type: 'file_search', vector_store_ids: ['vs_1'] }] }],
  ['responses', { tools: [{ type: 'code_interpreter', container: { type: 'auto' } }] }],
  ['messages', { tools: [{ type: 'web_search_20260209', name: 'web_search' }] }],
])('a tool without a price is refused on an enforced account: %s %j', async (client, more) => {
  answersChat({ prompt_tokens: 10, completion_tokens: 5, total_tokens: 15 })
  const before = upstream.calls.length
  const answer = await ask(client, `${client}-plain`, more)
  expect(answer.status).toBe(400)
  expect(answer.text).toContain('is not offered for this model')
  expect(upstream.calls.length).toBe(before)
  // An account that is never refused may use it.
  await ask(client, `${client}-plain`, more, UNLIMITED)
  expect(upstream.calls.length).toBeGreaterThan(before)
})

test('the refusal of a chat client names the field', async () => {
  const answer = await ask('chat', 'chat-plain', { web_search_options: {} })
  expectError(answer, 400, 'unsupported_parameter', 'web_search_options')
})
