/** Shutdown: streams finish within the drain timeout, or end with an error. */
import { once } from 'node:events'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { follow } from '../harness/follow.ts'
import { type RunningGateway, startGateway, until } from '../harness/gateway.ts'
import { call, chatBody, eventData, jsonHeaders } from '../harness/http.ts'
import { lineOf } from '../harness/ledger.ts'
import { account, apiKey, channel, route } from '../harness/resources.ts'
import { connection } from '../harness/socket.ts'
import { chatEvents, type ScriptedUpstream, startUpstream } from '../harness/upstream.ts'

const KEY = 'sk-drain-key-0123456789'

let upstream: ScriptedUpstream
let gateway: RunningGateway
/** Lets the upstream continue its answers. */
let release: () => void

beforeAll(async () => {
  upstream = await startUpstream()
})

afterEach(() => gateway?.stop())

afterAll(() => upstream?.close())

async function start(env: Record<string, string> = {}) {
  const gate = Promise.withResolvers<void>()
  release = gate.resolve
  upstream.answer(async (received, res) => {
    if (!received.body.includes('"stream":true')) {
      await gate.promise
      return void res.destroy()
    }
    const [first = '', ...rest] = chatEvents('any', 'one two three', {
      prompt_tokens: 1,
      completion_tokens: 3,
    })
    res.writeHead(200, { 'content-type': 'text/event-stream' })
    res.write(first)
    await gate.promise
    res.end(`${rest.join('')}data: [DONE]\n\n`)
  })
  gateway = await startGateway(
    {
      'all.yaml':
        channel('c', upstream.baseURL) +
        route('r', 'model', ['c'], { price: { input: '1', output: '1' } }) +
        account('a', '1') +
        apiKey('k', KEY, { accountRef: { name: 'a' } }),
    },
    env,
  )
  const exited = once(gateway.child, 'exit').then(([code]: unknown[]) => code)
  const stream = await follow(`${gateway.base}/v1/chat/completions`, {
    headers: jsonHeaders(KEY),
    body: chatBody('model', { stream: true }),
  })
  await until(() => eventData(stream.text()).length > 0, 'the stream to begin')
  return { stream, exited }
}

const ready = async () => (await call(`${gateway.admin}/readyz`)).status

/** Whether new connections are refused, as they are while draining. */
const refusesConnections = () =>
  call(`${gateway.base}/v1/models`, { headers: jsonHeaders(KEY) }).then(
    () => false,
    (error: unknown) => error instanceof Error && error.message.includes('ECONNREFUSED'),
  )

describe('SIGTERM', () => {
  it('lets a running stream finish; meanwhile it accepts no connections and is not ready', async () => {
    const { stream, exited } = await start()
    expect(await ready()).toBe(200)
    expect(await refusesConnections()).toBe(false)
    gateway.child.kill('SIGTERM')
    await until(refusesConnections, 'new connections to be refused')
    expect(await ready()).toBe(503)
    expect((await call(`${gateway.admin}/healthz`)).status).toBe(200)
    expect((await call(`${gateway.admin}/metrics`)).text).toMatch(/^sluice_requests_in_flight 1$/m)
    release()
    expect(await stream.ended).toBe(true)
    expect(eventData(stream.text()).at(-1)).toBe('[DONE]')
    expect(await exited).toBe(0)
    // The log is complete.
    expect(await lineOf(gateway, stream)).toMatchObject({ outcome: 'finished', settled: '0.000004' })
  })

  it('after the drain timeout ends streams with an error event and waiting requests with 503, and settles all', async () => {
    const { stream, exited } = await start({ SLUICE_DRAIN_TIMEOUT: '1s' })
    const calls = upstream.calls.length
    const waiting = call(`${gateway.base}/v1/chat/completions`, {
      headers: jsonHeaders(KEY),
      body: chatBody('model'),
    })
    await until(() => upstream.calls.length > calls, 'the second request to be under way')
    const from = performance.now()
    gateway.child.kill('SIGTERM')
    expect(await stream.ended).toBe(true)
    const elapsed = performance.now() - from
    expect(elapsed).toBeGreaterThan(950)
    expect(stream.text()).not.toContain('[DONE]')
    expect(JSON.parse(eventData(stream.text()).at(-1) ?? '')).toMatchObject({ error: { code: 'overloaded' } })
    const refused = await waiting
    expect(refused.status).toBe(503)
    expect(JSON.parse(refused.text)).toMatchObject({ error: { code: 'overloaded' } })
    expect(Number(refused.headers['retry-after'])).toBeGreaterThan(0)
    expect(await exited).toBe(0)
    // Nothing was delivered yet, so only the prompt is charged: 5 bytes, estimated as 2 tokens.
    expect(await lineOf(gateway, stream)).toMatchObject({ outcome: 'shutdown', settled: '0.000002' })
  })

  it.each([
    ['has sent nothing', ''],
    ['has sent half a head', 'POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\n'],
    ['has its answer', 'GET /v1/models HTTP/1.1\r\nhost: x\r\n\r\n'],
  ])('does not wait for a connection that %s', async (_, bytes) => {
    const { stream, exited } = await start()
    release()
    await stream.ended
    const idle = await connection(gateway.base, bytes)
    if (bytes.endsWith('\r\n\r\n')) await until(() => idle.received().includes('401'), 'the answer')
    gateway.child.kill('SIGTERM')
    expect(await exited).toBe(0)
    await idle.closed
  })
})

describe('a second signal', () => {
  it.each(['SIGTERM', 'SIGINT'] as const)('%s stops the gateway at once', async (second) => {
    const { stream, exited } = await start()
    gateway.child.kill('SIGTERM')
    await until(refusesConnections, 'draining to begin')
    gateway.child.kill(second)
    expect(await exited).toBe(130)
    expect(await stream.ended).toBe(false)
  })
})
