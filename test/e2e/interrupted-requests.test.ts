/** Requests that are interrupted leave nothing in flight and keep no other request waiting. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type RunningGateway, startGateway, until } from '../harness/gateway.ts'
import { call, chatBody, eventData, jsonHeaders, open, readAll } from '../harness/http.ts'
import { metric } from '../harness/ledger.ts'
import { apiKey, channel, route } from '../harness/resources.ts'
import { connection } from '../harness/socket.ts'
import { DONE, written } from '../harness/sse.ts'
import { chatAnswer, chatEvents, type ScriptedUpstream, startUpstream } from '../harness/upstream.ts'

const KEY = 'sk-interrupted-0123456789'
const OTHER = 'sk-revoked-0123456789'
const EVENTS = chatEvents('m', 'one two three', null)
let upstream: ScriptedUpstream
let spare: ScriptedUpstream
let gateway: RunningGateway

beforeAll(async () => {
  upstream = await startUpstream()
  spare = await startUpstream(chatAnswer({ content: 'from the spare' }))
  const patient = { timeouts: { idle: '60s', firstByte: '60s' }, ejection: { consecutiveFailures: 3 } }
  gateway = await startGateway({
    'all.yaml':
      apiKey('main', KEY) +
      channel('first', upstream.baseURL, patient) +
      channel('spare', spare.baseURL) +
      route('alone', 'alone', ['first']) +
      route('both', 'both', ['first', { name: 'spare', priority: 1 }]),
    'other.yaml': apiKey('other', OTHER),
  })
})

afterAll(async () => {
  await gateway.stop()
  await upstream.close()
  await spare.close()
})

const ask = (model: string, more: object = {}) =>
  call(`${gateway.base}/v1/chat/completions`, { headers: jsonHeaders(KEY), body: chatBody(model, more) })
const idle = () =>
  until(async () => (await metric(gateway, 'sluice_requests_in_flight')) === 0, 'no request in flight')

test('refuses a body that is invalid in the first packet', async () => {
  for (let i = 0; i < 2; i++) {
    const { closed } = await connection(
      gateway.base,
      `POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${KEY}\r\n` +
        `Content-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\nZZ\r\nabc\r\n`,
    )
    expect(await closed).toMatch(/^HTTP\/1\.1 400 /)
  }
  await idle()
})

test('ends a stream after [DONE] although the upstream keeps the connection open', async () => {
  upstream.answer(async (_call, res) => {
    res.writeHead(200, { 'content-type': 'text/event-stream' })
    await written(res, [...EVENTS, DONE].join(''))
  })
  const { status, text } = await ask('alone', { stream: true })
  expect([status, text]).toEqual([200, [...EVENTS, DONE].join('')])
  await idle()
})

test('falls over without waiting for the end of an error body', async () => {
  upstream.answer((_call, res) => {
    res.writeHead(500, { 'content-type': 'application/json' })
    res.write('{"error":')
  })
  const { status, text } = await ask('both')
  expect(status).toBe(200)
  expect(text).toContain('from the spare')
})

test('ends the stream of a revoked key with an error event', async () => {
  upstream.answer(async (_call, res) => {
    res.writeHead(200, { 'content-type': 'text/event-stream' })
    await written(res, EVENTS.slice(0, 2).join(''))
  })
  const res = await open(`${gateway.base}/v1/chat/completions`, {
    headers: jsonHeaders(OTHER),
    body: chatBody('alone', { stream: true }),
  })
  expect(res.statusCode).toBe(200)
  gateway.write('other.yaml', apiKey('other', OTHER, { disabled: true }))
  const text = (await readAll(res)).toString()
  expect(text.startsWith(EVENTS.slice(0, 2).join(''))).toBe(true)
  expect(JSON.parse(eventData(text).at(-1) ?? '')).toMatchObject({ error: { code: 'unauthorized' } })
  await idle()
})

test('ejects a channel that cuts every stream off', async () => {
  upstream.answer(async (_call, res) => {
    res.writeHead(200, { 'content-type': 'text/event-stream' })
    await written(res, EVENTS[0] ?? '')
    res.destroy()
  })
  gateway.write('route.yaml', route('cut', 'cut', ['cutter', { name: 'spare', priority: 1 }]))
  gateway.write('channel.yaml', channel('cutter', upstream.baseURL, { ejection: { consecutiveFailures: 3 } }))
  await until(async () => (await ask('cut')).status !== 502, 'the route')
  const before = upstream.calls.length
  const texts: string[] = []
  for (let i = 0; i < 8; i++) texts.push((await ask('cut', { stream: true })).text)
  expect(upstream.calls.length - before).toBeLessThanOrEqual(3)
  expect(texts.at(-1)).toContain('spare')
})

test('lets many concurrent requests fall over to a healthy channel despite the retry budget', async () => {
  upstream.answer((_call, res) => {
    res.writeHead(500)
    res.end()
  })
  gateway.write('route.yaml', route('bad', 'bad', ['never', { name: 'spare', priority: 1 }]))
  gateway.write('channel.yaml', channel('never', upstream.baseURL, { ejection: { consecutiveFailures: 0 } }))
  await until(async () => (await ask('bad')).status === 200, 'the route')
  const answers = await Promise.all(Array.from({ length: 300 }, () => ask('bad')))
  expect(answers.filter(({ status }) => status !== 200)).toEqual([])
})

test('logs and counts requests that are refused before routing', async () => {
  await call(`${gateway.base}/nowhere`)
  const line = await until(
    () => gateway.requests().find((entry) => entry.code === 'not_found'),
    'the log line',
  )
  expect(line).toMatchObject({ endpoint: 'none', status: 404 })
  const { text } = await call(`${gateway.admin}/metrics`)
  expect(text).toMatch(
    /sluice_requests_total\{endpoint="none",status="404",code="not_found",domain="caller"\} 1/,
  )
})
