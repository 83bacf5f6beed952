/** Overload: the gateway refuses new requests with Retry-After and continues accepted ones. */
import { once } from 'node:events'
import { type AddressInfo, createServer } from 'node:net'
import { setTimeout as delay } from 'node:timers/promises'
import { afterEach, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { startGateway, until } from '../harness/gateway.ts'
import { call, chatBody, expectError, jsonHeaders } from '../harness/http.ts'
import { apiKey, channel, route } from '../harness/resources.ts'
import { connection, parseAnswer } from '../harness/socket.ts'
import { chatAnswer, completion, json, type ScriptedUpstream, startUpstream } from '../harness/upstream.ts'

const KEY = 'sk-overload-test'
const PATH = '/v1/chat/completions'
const MIB = 1_048_576

let upstream: ScriptedUpstream

beforeAll(async () => {
  upstream = await startUpstream()
  return () => upstream.close()
})
afterEach(() => upstream.answer(chatAnswer()))

async function gatewayWith(env: Record<string, string>) {
  const gateway = await startGateway(
    { 'all.yaml': apiKey('caller', KEY) + channel('main', upstream.baseURL) + route('model', 'm', ['main']) },
    env,
  )
  onTestFinished(() => gateway.stop())
  const ask = (body = chatBody('m'), headers = {}) =>
    call(gateway.base + PATH, { body, headers: { ...jsonHeaders(KEY), ...headers } })
  return { gateway, ask }
}

/** Holds the upstream's answers until the returned function is called. */
function gate() {
  const opened = Promise.withResolvers<void>()
  upstream.answer(async (request, res) => {
    await opened.promise
    await chatAnswer()(request, res)
  })
  return opened.resolve
}

describe('requests in flight', () => {
  it('beyond the limit get 503 with Retry-After, while streams continue', async () => {
    const { ask } = await gatewayWith({ SLUICE_MAX_IN_FLIGHT: '2' })
    const open = gate()
    const before = upstream.calls.length
    const accepted = [ask(chatBody('m', { stream: true })), ask()]
    await until(() => upstream.calls.length === before + 2, 'both to be under way')
    const refused = await ask()
    expectError(refused, 503, 'overloaded', null, 'service_unavailable_error')
    expect(refused.headers['retry-after']).toBe('1')
    expect(refused.headers['x-sluice-error']).toBe('overloaded')
    open()
    const [stream, whole] = await Promise.all(accepted)
    expect(stream?.text.trimEnd().endsWith('data: [DONE]')).toBe(true)
    expect(whole?.status).toBe(200)
    expect((await ask()).status).toBe(200)
  })

  it('of one client beyond its limit get 429, while others are served', async () => {
    const { ask } = await gatewayWith({
      SLUICE_MAX_IN_FLIGHT_PER_CLIENT: '1',
      SLUICE_TRUSTED_PROXIES: '127.0.0.1',
    })
    const open = gate()
    const before = upstream.calls.length
    const from = (address: string) => ask(chatBody('m'), { 'x-forwarded-for': address })
    const accepted = [from('192.0.2.1'), from('192.0.2.2')]
    await until(() => upstream.calls.length === before + 2, 'both to be under way')
    const refused = await from('192.0.2.1')
    expectError(refused, 429, 'rate_limit_exceeded', null, 'rate_limit_error')
    expect(refused.headers['retry-after']).toBe('1')
    open()
    expect((await Promise.all(accepted)).map(({ status }) => status)).toEqual([200, 200])
    expect((await from('192.0.2.1')).status).toBe(200)
  })
})

describe('bodies', () => {
  it('that are large and slow give way to small requests', async () => {
    const { gateway, ask } = await gatewayWith({ SLUICE_BODY_MEMORY_BYTES: String(8 * MIB) })
    const head = `POST ${PATH} HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${KEY}\r\ncontent-length: 4000000\r\n\r\n`
    const senders = await Promise.all([1, 2, 3].map(() => connection(gateway.base, head)))
    for (const { socket } of senders) socket.write(Buffer.alloc(1.9 * MIB, ' '))
    const refused = () => senders.filter(({ received }) => received().includes('overloaded'))
    await until(() => refused().length > 0, 'one of them to be refused')
    expect(parseAnswer(refused()[0]?.received() ?? '').status).toBe(503)
    for (let i = 0; i < 20; i++)
      expect((await ask(chatBody('m', { user: 'x'.repeat(300_000) }))).status).toBe(200)
    expect(refused().length).toBeLessThan(3)
    for (const { socket } of senders) {
      socket.destroy()
      await once(socket, 'close')
    }
    const large = chatBody('m', { user: 'x'.repeat(3 * MIB) })
    await until(async () => (await ask(large)).status === 200, 'the memory of the closed connections')
  })

  it('of the relay do not use the memory of requests with a key', async () => {
    const silent = createServer((socket) => void socket.on('error', () => undefined).pause())
    silent.listen(0, '127.0.0.1')
    await once(silent, 'listening')
    onTestFinished(() => void silent.close())
    const { gateway, ask } = await gatewayWith({
      SLUICE_BODY_MEMORY_BYTES: String(16 * MIB),
      SLUICE_RELAY_ALLOW: 'localhost',
    })
    const url = `http://127.0.0.1:${(silent.address() as AddressInfo).port}/`
    const body = { model: 'm', text: 'x'.repeat(3 * MIB) }
    const relay = () =>
      call(`${gateway.base}/api/proxy`, {
        headers: jsonHeaders('sk-foreign'),
        body: JSON.stringify({ url, format: 'openai', body }),
        signal: leaving.signal,
      })
    const leaving = new AbortController()
    const first = relay()
    first.catch(() => undefined)
    const used = async () =>
      Number(/relay"} (\d+)/.exec((await call(`${gateway.admin}/metrics`)).text)?.[1] ?? 0) > 3 * MIB
    await until(used, 'the first body to be held')
    const second = await relay()
    expectError(second, 503, 'overloaded', null, 'service_unavailable_error')
    expect((await ask(chatBody('m', { user: 'x'.repeat(3 * MIB) }))).status).toBe(200)
    leaving.abort()
  })

  it('that exceed the memory limit are too large', async () => {
    const { ask } = await gatewayWith({ SLUICE_BODY_MEMORY_BYTES: String(2 * MIB) })
    expectError(await ask(chatBody('m', { user: 'x'.repeat(MIB) })), 413, 'request_too_large')
  })

  it('have limits per endpoint', async () => {
    const { gateway, ask } = await gatewayWith({
      SLUICE_ENDPOINT_BODY_BYTES: 'embeddings=1024, messages=2048',
    })
    const body = JSON.stringify({ model: 'm', input: 'x'.repeat(2_000) })
    const path = `${gateway.base}/v1/embeddings`
    expectError(await call(path, { body, headers: jsonHeaders(KEY) }), 413, 'request_too_large')
    const within = JSON.stringify({ model: 'none', input: 'x'.repeat(900) })
    expectError(
      await call(path, { body: within, headers: jsonHeaders(KEY) }),
      502,
      'upstream_error',
      'model',
      'server_error',
    )
    expect((await ask(chatBody('m', { user: 'x'.repeat(9_000) }))).status).toBe(200)
  })
})

describe('answers', () => {
  it('that are not read count as in flight until their clients leave', async () => {
    upstream.answer((_call, res) => json(res, 200, completion('m', 'x'.repeat(20 * MIB), null)))
    const { gateway } = await gatewayWith({})
    const body = chatBody('m')
    const head = `POST ${PATH} HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${KEY}\r\ncontent-length: ${body.length}\r\n\r\n`
    const { socket } = await connection(gateway.base, head + body)
    socket.pause()
    await until(() => gateway.requests().length === 1, 'the request to be served')
    const inFlight = async () =>
      Number(/^sluice_requests_in_flight (\d+)/m.exec((await call(`${gateway.admin}/metrics`)).text)?.[1])
    expect(await inFlight()).toBe(1)
    socket.destroy()
    await until(async () => (await inFlight()) === 0, 'the request to be over')
  })
})

describe('the event loop', () => {
  it('refuses new work while it is delayed, and serves again', async () => {
    const { gateway, ask } = await gatewayWith({ SLUICE_MAX_LOOP_DELAY: '500ms' })
    await until(async () => (await ask()).status === 200, 'work to be served')
    const refusesAfterStandingStill = async () => {
      gateway.child.kill('SIGSTOP')
      // Longer than the bound. Several times in a row, until the delay counts as lasting.
      await delay(700)
      gateway.child.kill('SIGCONT')
      return (await ask()).status === 503
    }
    await until(refusesAfterStandingStill, 'new work to be refused')
    await until(async () => (await ask()).status === 200, 'work to be served again')
  })
})
