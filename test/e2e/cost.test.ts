/** Answers tell what they cost: JSON in a header, streams in a comment if the client requests it. */
import OpenAI from 'openai'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type BillingUpstream, promptOf, startBillingUpstream } from '../harness/billing-upstream.ts'
import { type RunningGateway, startGateway } from '../harness/gateway.ts'
import { call, jsonHeaders } from '../harness/http.ts'
import { lineOf } from '../harness/ledger.ts'
import { account, apiKey, channel, route } from '../harness/resources.ts'

const METERED = 'sk-cost-metered-0123456789'
const UNMETERED = 'sk-cost-unmetered-012345'
const DIALECTS = { chat: 'chat_completion', responses: 'responses', messages: 'messages' } as const
type Dialect = keyof typeof DIALECTS
const NAMES = Object.keys(DIALECTS) as Dialect[]
const PATHS = { chat: 'chat/completions', responses: 'responses', messages: 'messages' }
const ASKED = { 'x-sluice-include-cost': 'true' }

let upstream: BillingUpstream
let gateway: RunningGateway

beforeAll(async () => {
  upstream = await startBillingUpstream()
  const resources = NAMES.flatMap((name) => {
    const baseURL = name === 'messages' ? upstream.origin : `${upstream.origin}/v1`
    const type = { type: DIALECTS[name], profile: name === 'messages' ? 'anthropic' : 'openai-reasoning' }
    return [channel(name, baseURL, type), route(name, name, [name], { price: { input: '1', output: '4' } })]
  })
  gateway = await startGateway({
    'all.yaml': [
      ...resources,
      route('free', 'free', ['chat'], { free: true }),
      account('paying', '10') + apiKey('metered', METERED, { accountRef: { name: 'paying' } }),
      apiKey('unmetered', UNMETERED),
    ].join(''),
  })
})
afterAll(async () => {
  await gateway?.stop()
  await upstream?.close()
})

function ask(client: Dialect, model: string, { stream = false, headers = {}, key = METERED } = {}) {
  const messages = [{ role: 'user', content: promptOf(`${client}-${model}`) }]
  const own = {
    chat: { messages, max_completion_tokens: 1_000 },
    responses: { input: messages, max_output_tokens: 1_000 },
    messages: { messages, max_tokens: 1_000 },
  }
  const body = JSON.stringify({ model, ...own[client], ...(stream && { stream }) })
  return call(`${gateway.base}/v1/${PATHS[client]}`, { headers: { ...jsonHeaders(key), ...headers }, body })
}

const COMMENT = /^: x-sluice-cost (\S+)$/m
const LAST = {
  chat: /^data: \[DONE\]/,
  responses: /^event: response\.completed/,
  messages: /^event: message_stop/,
}

describe.each(NAMES.flatMap((client) => NAMES.map((to) => ({ client, to }))))(
  '$client to $to',
  ({ client, to }) => {
    test('JSON has its cost in a header', async () => {
      const answer = await ask(client, to)
      const { settled } = await lineOf(gateway, answer)
      expect(Number(settled)).toBeGreaterThan(0)
      expect(answer.headers['x-sluice-cost']).toBe(settled)
    })

    test('a stream has it before its last event, on request alone', async () => {
      const plain = await ask(client, to, { stream: true })
      expect(plain.text).not.toContain('x-sluice-cost')
      const answer = await ask(client, to, { stream: true, headers: ASKED })
      const { settled } = await lineOf(gateway, answer)
      const [, cost] = COMMENT.exec(answer.text) ?? []
      expect(cost).toBe(settled)
      const after = answer.text.slice(answer.text.indexOf(`${cost}\n\n`) + `${cost}\n\n`.length)
      expect(after).toMatch(LAST[client])
      expect(after.trimEnd()).not.toContain('\n\n')
    })
  },
)

test('a key without an account learns the cost, too; a free model has none', async () => {
  expect((await ask('chat', 'chat', { key: UNMETERED })).headers['x-sluice-cost']).toBe('0.00186')
  const free = await ask('chat', 'free', { headers: ASKED })
  expect([free.status, free.headers['x-sluice-cost']]).toEqual([200, undefined])
  expect((await ask('chat', 'free', { stream: true, headers: ASKED })).text).not.toContain('x-sluice-cost')
})

test('an SDK reads a stream with its cost as it reads any other', async () => {
  const client = new OpenAI({ apiKey: METERED, baseURL: `${gateway.base}/v1`, defaultHeaders: ASKED })
  const messages = [{ role: 'user' as const, content: promptOf('sdk') }]
  let text = ''
  for await (const chunk of await client.chat.completions.create({ model: 'chat', messages, stream: true }))
    text += chunk.choices[0]?.delta.content ?? ''
  expect(text).toBe('abc '.repeat(40))
})
