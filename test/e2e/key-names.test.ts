/** Every log line names the ApiKey, even for keys with the same ending. */
import { once } from 'node:events'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { z } from 'zod'
import { connect } from '../../proxy/socket/testing.ts'
import { type RunningGateway, startGateway, until } from '../harness/gateway.ts'
import { call, chatBody, jsonHeaders } from '../harness/http.ts'
import { account, apiKey, channel, route } from '../harness/resources.ts'
import { type ScriptedUpstream, startUpstream } from '../harness/upstream.ts'

const ALICE = 'sk-alice-0123456789abcdef'
const BOB = 'sk-bobby-9876543210abcdef'
const FENCED = 'sk-fenced-0123456789abcdef'
const POOR = 'sk-poor-0123456789-abcdef'
const CLOSED = 'sk-closed-0123456789abcdef'
const PREVIEW = '...cdef'

let upstream: ScriptedUpstream
let gateway: RunningGateway

beforeAll(async () => {
  upstream = await startUpstream()
  gateway = await startGateway(
    {
      'all.yaml':
        channel('c', upstream.baseURL) +
        route('r', 'model', ['c'], { price: { input: '1', output: '1' } }) +
        account('empty', undefined) +
        account('closed', '1', { disabled: true }) +
        apiKey('alice', ALICE) +
        apiKey('bob', BOB) +
        apiKey('fenced', FENCED, { allowedIPs: ['192.0.2.7'] }) +
        apiKey('poor', POOR, { accountRef: { name: 'empty' } }) +
        apiKey('closed', CLOSED, { accountRef: { name: 'closed' } }),
    },
    { SLUICE_RELAY_REQUIRE_API_KEY: 'true', SLUICE_RELAY_ALLOW: 'localhost' },
  )
})

afterAll(async () => {
  await gateway?.stop()
  await upstream?.close()
})

const lineOf = (requestId: unknown) =>
  until(() => gateway.requests().find((line) => line.requestId === requestId), 'its line')

const chat = (key: string, model = 'model') =>
  call(`${gateway.base}/v1/chat/completions`, { headers: jsonHeaders(key), body: chatBody(model) })

it.each([
  ['alice', ALICE, 'model', 200],
  ['bob', BOB, 'model', 200],
  ['bob', BOB, 'nothing', 502],
  ['fenced', FENCED, 'model', 403],
  ['poor', POOR, 'model', 402],
  ['closed', CLOSED, 'model', 403],
])('names %s', async (name, key, model, status) => {
  const answer = await chat(key, model)
  expect(answer.status).toBe(status)
  const line = await lineOf(answer.headers['x-request-id'])
  expect(line).toMatchObject({ key: `default/${name}`, keyPreview: PREVIEW, namespace: 'default' })
})

it('names no key for a request with an unknown one', async () => {
  const line = await lineOf((await chat('sk-unknown-0123456789abcdef')).headers['x-request-id'])
  expect([line.status, line.key, line.keyPreview]).toEqual([401, undefined, undefined])
})

it('names the key of WebSocket messages, valid and invalid', async () => {
  const url = `${gateway.base.replace('http', 'ws')}/v1/responses`
  const client = await connect(url, { headers: { authorization: `Bearer ${BOB}` } })
  const before = gateway.requests().length
  client.send({ type: 'response.create', model: 'model', input: 'Hello' })
  client.send({ type: 'no.such.event' })
  const lines = () => gateway.requests().slice(before)
  await until(() => lines().length >= 2, 'both lines')
  client.ws.close()
  expect(lines().map(({ key, keyPreview }) => [key, keyPreview])).toEqual([
    ['default/bob', PREVIEW],
    ['default/bob', PREVIEW],
  ])
})

it('names the key of a refused handshake', async () => {
  const before = gateway.requests().length
  const { WebSocket } = await import('ws')
  const url = `${gateway.base.replace('http', 'ws')}/v1/responses`
  const refused = new WebSocket(url, { headers: { authorization: `Bearer ${FENCED}` } })
  await once(refused, 'error')
  await until(() => gateway.requests().length > before, 'its line')
  expect(gateway.requests()[before]).toMatchObject({ status: 403, key: 'default/fenced' })
})

it('names the key of a relay call', async () => {
  const url = `${upstream.baseURL}/chat/completions`
  const body = JSON.stringify({ url, format: 'openai', body: JSON.parse(chatBody('model')) })
  const headers = { ...jsonHeaders('of-the-upstream'), 'x-api-key': ALICE }
  const answer = await call(`${gateway.base}/api/proxy`, { headers, body })
  const line = await lineOf(answer.headers['x-request-id'])
  expect(line).toMatchObject({ endpoint: 'relay', key: 'default/alice', keyPreview: PREVIEW })
})

it('finds log lines by the key’s name, not by its ending', async () => {
  const page = z.object({ lines: z.array(z.string()) })
  const names = async (query: string) => {
    const { text } = await call(`${gateway.admin}/logs?limit=1000&${query}`)
    return new Set(page.parse(JSON.parse(text)).lines.map((line) => JSON.parse(line).key))
  }
  await chat(ALICE)
  await lineOf((await chat(BOB)).headers['x-request-id'])
  expect(await names('key=bob')).toEqual(new Set(['default/bob']))
  expect(await names('key=default/alice')).toEqual(new Set(['default/alice']))
  for (const none of ['...cdef', 'other/bob', 'default', 'bo', 'default/bob/'])
    expect(await names(`key=${encodeURIComponent(none)}`)).toEqual(new Set())
})
