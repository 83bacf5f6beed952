/** SDKs through a real nginx, configured like the documented ingress, to two proxies. */
import { once } from 'node:events'
import { createServer } from 'node:http'
import { setTimeout as pause } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type RunningGateway, startGateway, until } from '../../harness/gateway.ts'
import { call, chatBody, jsonHeaders } from '../../harness/http.ts'
import { apiKey, channel, route } from '../../harness/resources.ts'
import { HELLO, openai } from '../../harness/sdk.ts'
import { connection } from '../../harness/socket.ts'
import { chatAnswer, chatEvents, type ScriptedUpstream, startUpstream } from '../../harness/upstream.ts'
import { type Nginx, startNginx } from './nginx.ts'

const KEY = 'sk-ingress-0123456789'
const FENCED = 'sk-ingress-fenced-0123456789'
const WORDS = 'one two three four'

let upstream: ScriptedUpstream
let proxies: RunningGateway[] = []
let nginx: Nginx

beforeAll(async () => {
  upstream = await startUpstream()
  const files = {
    'all.yaml':
      channel('up', upstream.baseURL) +
      route('model', 'model', ['up']) +
      apiKey('free', KEY) +
      apiKey('fenced', FENCED, { allowedIPs: ['203.0.113.0/24'] }),
  }
  const env = { SLUICE_TRUSTED_PROXIES: '127.0.0.1' }
  proxies = await Promise.all([startGateway(files, env), startGateway(files, env)])
  nginx = await startNginx(proxies.map(({ base }) => base))
})

afterAll(async () => {
  await nginx?.stop()
  await Promise.all(proxies.map((proxy) => proxy.stop()))
  await upstream?.close()
})

const requests = () => proxies.flatMap((proxy) => proxy.requests())
const stream = (signal?: AbortSignal) =>
  openai(nginx.base, KEY).chat.completions.create(
    { model: 'model', messages: HELLO, stream: true },
    { signal },
  )

it('spreads requests over both proxies', async () => {
  upstream.answer(chatAnswer())
  for (let i = 0; i < 8; i++) {
    const answer = await openai(nginx.base, KEY).chat.completions.create({ model: 'model', messages: HELLO })
    expect(answer.choices[0]?.message.content).toBe('Hello there')
  }
  await until(() => proxies.every((proxy) => proxy.requests().length > 0), 'a request at each proxy')
})

it('streams event by event', async () => {
  // The upstream sends each event once the client has received the previous one.
  let received = 0
  const events = chatEvents('model', WORDS, null)
  upstream.answer(async (_, res) => {
    res.writeHead(200, { 'content-type': 'text/event-stream' })
    for (const [index, event] of events.entries()) {
      await until(() => received >= index, `event ${index} at the client`)
      res.write(event)
    }
    res.end('data: [DONE]\n\n')
  })
  let text = ''
  for await (const chunk of await stream()) {
    received++
    text += chunk.choices[0]?.delta.content ?? ''
  }
  expect(text).toBe(WORDS)
  expect(received).toBe(events.length)
})

it('closes the upstream call when the client leaves', async () => {
  upstream.answer(async (seen, res) => {
    res.writeHead(200, { 'content-type': 'text/event-stream' })
    const [first = '', second = ''] = chatEvents('model', WORDS, null)
    res.write(first + second)
    while (!seen.aborted) await pause(20)
  })
  const leaving = new AbortController()
  const before = upstream.calls.length
  const chunks = await stream(leaving.signal)
  for await (const chunk of chunks) if (chunk.choices[0]?.delta.content) break
  leaving.abort()
  await until(() => upstream.calls[before]?.aborted, 'the upstream to be left')
})

it('forwards a large body', async () => {
  upstream.answer(chatAnswer())
  const content = 'x'.repeat(8 * 1024 * 1024)
  const answer = await openai(nginx.base, KEY).chat.completions.create({
    model: 'model',
    messages: [{ role: 'user', content }],
  })
  expect(answer.choices[0]?.message.content).toBe('Hello there')
  expect(upstream.calls.at(-1)?.body.length).toBeGreaterThan(content.length)
})

it('forwards refusals unchanged', async () => {
  const answer = await call(`${nginx.base}/v1/models`, { headers: jsonHeaders('sk-unknown-0123456789') })
  expect(answer.status).toBe(401)
  expect(JSON.parse(answer.text)).toMatchObject({ error: { code: 'unauthorized' } })
  expect(answer.headers['x-request-id']).toMatch(/^req_/)
})

it('forwards a WebSocket', async () => {
  const server = createServer((_, res) => res.end())
  server.on('upgrade', (req, socket) => {
    socket.end(
      `HTTP/1.1 101 Switching Protocols\r\nupgrade: ${req.headers.upgrade}\r\nconnection: upgrade\r\n\r\nhello`,
    )
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address()
  const port = typeof address === 'object' && address !== null ? address.port : 0
  const other = await startNginx([`http://127.0.0.1:${port}`])
  try {
    const { socket, received } = await connection(
      other.base,
      'GET /v1/responses HTTP/1.1\r\nhost: localhost\r\nconnection: Upgrade\r\nupgrade: websocket\r\n\r\n',
    )
    await until(() => received().endsWith('hello'), 'the server’s greeting')
    expect(received()).toMatch(/^HTTP\/1\.1 101 [\s\S]*upgrade: websocket/i)
    socket.destroy()
  } finally {
    await other.stop()
    server.close()
  }
})

describe('the address of the client', () => {
  const from = (key: string, forwarded: Record<string, string>, base = nginx.base) =>
    call(`${base}/v1/chat/completions`, { headers: jsonHeaders(key, forwarded), body: chatBody('model') })
  beforeAll(() => upstream.answer(chatAnswer()))

  it('is the one that nginx saw', async () => {
    const answer = await from(KEY, { 'x-forwarded-for': '203.0.113.7' })
    expect(answer.status).toBe(200)
    const id = answer.headers['x-request-id']
    const line = await until(() => requests().find(({ requestId }) => requestId === id), 'the log line')
    // Both hops are trusted here, since everything is on loopback; the first one beyond them is the client.
    expect(line).toMatchObject({ client: '203.0.113.7' })
  })

  it('allows a key for its addresses only', async () => {
    expect((await from(FENCED, { 'x-forwarded-for': '203.0.113.7' })).status).toBe(200)
    expect((await from(FENCED, { 'x-forwarded-for': '198.51.100.7' })).status).toBe(403)
    expect((await from(FENCED, {})).status).toBe(403)
    // The nearest untrusted address counts, not the one that the client wrote before it.
    expect((await from(FENCED, { 'x-forwarded-for': '203.0.113.7, 198.51.100.7' })).status).toBe(403)
  })

  it('is not taken from the header of an untrusted client', async () => {
    const answer = await call(`${proxies[0]?.base}/v1/chat/completions`, {
      headers: jsonHeaders(FENCED, { 'x-forwarded-for': '203.0.113.7' }),
      body: chatBody('model'),
      localAddress: '127.0.0.2',
    })
    expect(answer.status).toBe(403)
  })
})
