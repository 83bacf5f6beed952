import { once } from 'node:events'
import { type IncomingHttpHeaders, request } from 'node:http'
import { connect as connectTcp } from 'node:net'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { AddressSet } from '../../contract/address.ts'
import { keyHash } from '../../contract/ids.ts'
import type { AccountRecord, KeyRecord } from '../../contract/table/records.ts'
import { StoreUnavailable } from '../../store/contract.ts'
import { testAccount, testKey } from '../auth/testing.ts'
import { listen } from '../outbound/testing.ts'
import { Revocation } from '../pipeline/admission/revocation.ts'
import { BodyMemory } from '../pipeline/body/memory.ts'
import type { Ports } from '../pipeline/ports.ts'
import { Journal } from '../pipeline/request/journal.ts'
import { Shutdown } from '../pipeline/request/shutdown.ts'
import type { Relay } from '../relay/relay.ts'
import { MemoryPool } from '../socket/memory.ts'
import { Sockets } from '../socket/sockets.ts'
import { connect, TEST_LIMITS } from '../socket/testing.ts'
import type { RequestRecord } from '../telemetry/request-log.ts'
import { createApp, refuse } from './app.ts'
import { drain } from './drain.ts'
import { createHttpServer } from './http-server.ts'
import { Overload } from './overload.ts'
import { trackUnused } from './unused-connections.ts'
import { createUpgrades, socketCalls } from './upgrade.ts'

const KEY = 'sk-a-secret-of-alice'
const AUTHORIZED = { authorization: `Bearer ${KEY}` }
const HANDSHAKE = {
  connection: 'Upgrade',
  upgrade: 'websocket',
  'sec-websocket-version': '13',
  'sec-websocket-key': 'AAAAAAAAAAAAAAAAAAAAAA==',
}

/** As much of the API server as a handshake needs. */
async function apiServer({ maxInFlight = 10, stored = true } = {}) {
  const lines: RequestRecord[] = []
  const follower = {
    key: async (hash: string): Promise<KeyRecord | undefined> => {
      if (!stored) throw new StoreUnavailable('away')
      return hash === keyHash(KEY) ? testKey() : undefined
    },
    account: async (): Promise<AccountRecord | undefined> => undefined,
  }
  const shutdown = new Shutdown()
  const revocation = new Revocation(async () => undefined)
  const journal = new Journal(
    { write: (line) => void lines.push(line), errorAnswer: () => ({}) },
    { finished: () => undefined, attempt: () => undefined, unpaid: () => undefined },
  )
  const ports = {
    admission: { follower, trustedProxies: new AddressSet([]), revocation },
    bodies: {
      limits: {
        maxBodyBytes: 1_000,
        endpointBytes: new Map(),
        clientStallMs: 1_000,
        streamKeepAliveMs: 1_000,
      },
      memory: new BodyMemory(Infinity),
    },
    journal,
  } as unknown as Ports
  const overload = new Overload({
    maxInFlight,
    maxInFlightPerClient: 0,
    maxLoopDelayMs: 500,
    maxMemoryBytes: Infinity,
  })
  onTestFinished(() => overload.stop())
  const unexpected = vi.fn()
  const state = { draining: false }
  const sockets = new Sockets({
    ...socketCalls({ ports, overload, shutdown, unexpected }),
    limits: { ...TEST_LIMITS, closeMs: 600_000 },
    pool: new MemoryPool(1_000_000),
    now: () => 0,
  })
  const draining = () => state.draining
  const upgrades = createUpgrades({ ports, overload, sockets, draining, unexpected })
  const relay = {} as Relay
  const app = createApp({ ports, relay, overload, shutdown, upgrades, unexpected })
  const server = createHttpServer(
    {
      headersTimeoutMs: 10_000,
      requestTimeoutMs: 10_000,
      idleTimeoutMs: 10_000,
      clientStallMs: 10_000,
      maxHeaderBytes: 16_384,
      maxHeaders: 100,
      maxRequestsPerConnection: 1_000,
      maxConnections: 100,
      maxConnectionsPerClient: 0,
      trustedProxies: new AddressSet([]),
    },
    {
      handle: app,
      refuse: (req, res, error) => refuse(journal, req, res, error),
      breakOff: () => undefined,
      upgrades,
      draining,
    },
  )
  const unused = trackUnused(server)
  const { origin, sockets: connections } = await listen(server, 'http')
  const ended = (graceMs: number) => {
    state.draining = true
    return drain({
      server,
      unused,
      sockets,
      graceMs,
      breakOff: () => shutdown.begin(),
      inFlight: () => overload.inFlight,
    })
  }
  return {
    origin,
    lines,
    overload,
    state,
    unused,
    sockets,
    follower,
    revocation,
    connections,
    ended,
    unexpected,
  }
}

interface Answer {
  status: number
  headers: IncomingHttpHeaders
  code: string
}

/** Sends the request; 101 has no code. */
function ask(url: string, headers: Record<string, string>, method = 'GET', body = ''): Promise<Answer> {
  const req = request(url, { method, headers, agent: false })
  const answer = new Promise<Answer>((resolve, reject) => {
    req.on('upgrade', (res, socket) => {
      socket.destroy()
      resolve({ status: res.statusCode ?? 0, headers: res.headers, code: '' })
    })
    req.on('response', async (res) => {
      let text = ''
      for await (const chunk of res) text += chunk
      resolve({
        status: res.statusCode ?? 0,
        headers: res.headers,
        code: text === '' ? '' : JSON.parse(text).error.code,
      })
    })
    req.on('error', reject)
  })
  req.end(body)
  return answer
}

describe('a handshake', () => {
  test.each(['/v1/responses', '/api/v1/responses', '/v1/responses?x=1'])(
    'on %s opens a socket',
    async (path) => {
      const { origin, sockets, lines } = await apiServer()
      const { status, headers } = await ask(origin + path, { ...HANDSHAKE, ...AUTHORIZED })
      expect([status, headers['sec-websocket-accept']]).toEqual([101, 'ICX+Yqv66kxgM0FcWaLWlFLwTAI='])
      await vi.waitUntil(() => sockets.size === 0)
      expect(lines).toEqual([])
    },
  )

  test.each<[string, Record<string, string>]>([
    ['among other protocols', { upgrade: 'foo, WebSocket' }],
    ['with an empty body', { 'content-length': '0' }],
  ])('%s opens a socket', async (_, changes) => {
    const { origin } = await apiServer()
    const { status } = await ask(`${origin}/v1/responses`, { ...HANDSHAKE, ...AUTHORIZED, ...changes })
    expect(status).toBe(101)
  })

  test('declines offers of compression and protocols', async () => {
    const { origin } = await apiServer()
    const { headers } = await ask(`${origin}/v1/responses`, {
      ...HANDSHAKE,
      ...AUTHORIZED,
      'sec-websocket-extensions': 'permessage-deflate; client_max_window_bits',
      'sec-websocket-protocol': 'realtime',
    })
    expect(headers).not.toHaveProperty('sec-websocket-extensions')
    expect(headers).not.toHaveProperty('sec-websocket-protocol')
  })

  test.each<[string, Record<string, string>]>([
    ['no key', {}],
    ['an unknown key', { authorization: 'Bearer sk-other' }],
    ['two keys', { ...AUTHORIZED, 'x-api-key': 'sk-other' }],
  ])('with %s is answered 401 in the format of its API, and logged', async (_, headers) => {
    const { origin, lines, connections, sockets } = await apiServer()
    const answer = await ask(`${origin}/v1/responses`, { ...HANDSHAKE, ...headers, 'anthropic-version': '1' })
    expect(answer).toMatchObject({ status: 401, code: 'unauthorized' })
    expect(answer.headers).toMatchObject({
      'content-type': 'application/json',
      'x-should-retry': 'false',
      connection: 'close',
      'x-request-id': lines[0]?.requestId,
      'request-id': lines[0]?.requestId,
    })
    expect(lines).toMatchObject([
      { endpoint: 'responses', status: 401, code: 'unauthorized', client: '127.0.0.1' },
    ])
    await vi.waitUntil(() => connections.size === 0)
    expect(sockets.size).toBe(0)
  })

  test('while keys cannot be read is answered 503 with Retry-After', async () => {
    const { origin } = await apiServer({ stored: false })
    const answer = await ask(`${origin}/v1/responses`, { ...HANDSHAKE, ...AUTHORIZED })
    expect(answer).toMatchObject({ status: 503, code: 'store_unavailable', headers: { 'retry-after': '1' } })
  })

  test('is refused under overload and during a drain', async () => {
    const busy = await apiServer({ maxInFlight: 1 })
    busy.overload.inFlight = 1
    const ending = await apiServer()
    ending.state.draining = true
    for (const { origin, lines } of [busy, ending]) {
      const answer = await ask(`${origin}/v1/responses`, { ...HANDSHAKE, ...AUTHORIZED })
      expect(answer).toMatchObject({ status: 503, code: 'overloaded', headers: { 'retry-after': '1' } })
      expect(lines).toMatchObject([{ status: 503 }])
    }
  })

  test('is refused if a shutdown starts meanwhile', async () => {
    const { origin, follower, state } = await apiServer()
    follower.key = async () => {
      state.draining = true
      return testKey()
    }
    const answer = await ask(`${origin}/v1/responses`, { ...HANDSHAKE, ...AUTHORIZED })
    expect(answer).toMatchObject({ status: 503, code: 'overloaded' })
  })

  test.each<[string, Record<string, string>, number, string]>([
    ['no upgrade', { connection: 'keep-alive', upgrade: '' }, 426, 'upgrade_required'],
    ['another protocol', { upgrade: 'h2c' }, 426, 'upgrade_required'],
    ['no Connection: Upgrade', { connection: 'keep-alive' }, 426, 'upgrade_required'],
    ['another version', { 'sec-websocket-version': '8' }, 426, 'upgrade_required'],
    ['no version', { 'sec-websocket-version': '' }, 426, 'upgrade_required'],
    ['no key', { 'sec-websocket-key': '' }, 400, 'invalid_request'],
    ['a short key', { 'sec-websocket-key': 'AAAA' }, 400, 'invalid_request'],
    ['other protocols', { upgrade: 'foo, xwebsocket' }, 426, 'upgrade_required'],
    ['a body', { 'content-length': '2' }, 400, 'invalid_request'],
    ['a chunked body', { 'transfer-encoding': 'chunked' }, 400, 'invalid_request'],
  ])('with %s is answered over HTTP', async (_, changes, status, code) => {
    const { origin, lines } = await apiServer()
    const body = 'content-length' in changes || 'transfer-encoding' in changes ? '{}' : ''
    const answer = await ask(
      `${origin}/v1/responses`,
      { ...HANDSHAKE, ...AUTHORIZED, ...changes },
      'GET',
      body,
    )
    expect(answer).toMatchObject({ status, code })
    expect(lines).toMatchObject([{ endpoint: 'none', status, code }])
    if (status === 426)
      expect(answer.headers).toMatchObject({
        upgrade: 'websocket',
        'sec-websocket-version': '13',
        'x-should-retry': 'false',
      })
  })

  test('with two hosts is refused like any request', async () => {
    const { origin } = await apiServer()
    const socket = connectTcp(Number(new URL(origin).port), '127.0.0.1')
    onTestFinished(() => void socket.destroy())
    const lines = Object.entries({ ...HANDSHAKE, ...AUTHORIZED }).map(([name, value]) => `${name}: ${value}`)
    socket.write(`GET /v1/responses HTTP/1.1\r\nhost: a\r\nhost: b\r\n${lines.join('\r\n')}\r\n\r\n`)
    const [chunk] = await once(socket, 'data')
    expect(String(chunk)).toMatch(/^HTTP\/1\.1 400 /)
  })

  test('survives a client that leaves meanwhile', async () => {
    const { origin, follower, sockets, connections, unexpected } = await apiServer()
    const looked = Promise.withResolvers<void>()
    const gate = Promise.withResolvers<undefined>()
    follower.key = async () => {
      looked.resolve()
      return gate.promise
    }
    const socket = connectTcp(Number(new URL(origin).port), '127.0.0.1')
    const lines = Object.entries({ ...HANDSHAKE, ...AUTHORIZED }).map(([name, value]) => `${name}: ${value}`)
    socket.write(`GET /v1/responses HTTP/1.1\r\nhost: a\r\n${lines.join('\r\n')}\r\n\r\n`)
    await looked.promise
    socket.resetAndDestroy()
    gate.resolve(undefined)
    await vi.waitUntil(() => connections.size === 0)
    expect([sockets.size, unexpected.mock.calls]).toEqual([0, []])
  })
})

describe('other requests with an Upgrade header are served over HTTP', () => {
  test.each<[string, string, string, number, string]>([
    // As `curl --http2` sends it. It has no key: 401 shows that it reached the endpoint.
    ['h2c', 'POST', '/v1/responses', 401, 'unauthorized'],
    ['websocket', 'POST', '/v1/responses', 401, 'unauthorized'],
    ['websocket', 'GET', '/v1/models', 401, 'unauthorized'],
    ['websocket', 'GET', '/v1/nothing', 404, 'not_found'],
    ['websocket', 'GET', '/v1/responses/', 404, 'not_found'],
    ['h2c', 'GET', '/api/v1/responses/', 404, 'not_found'],
    ['websocket', 'HEAD', '/v1/responses', 405, ''],
    ['websocket', 'PUT', '/v1/responses', 405, 'method_not_allowed'],
  ])('%s %s %s', async (upgrade, method, path, status, code) => {
    const { origin } = await apiServer()
    const body = method === 'GET' || method === 'HEAD' ? '' : '{"model":"m"}'
    const answer = ask(origin + path, { ...HANDSHAKE, upgrade }, method, body)
    expect(await answer).toMatchObject({ status, code })
  })
})

describe('a call on a socket', () => {
  async function opened(api: Awaited<ReturnType<typeof apiServer>>) {
    return connect(`${api.origin.replace('http', 'ws')}/v1/responses`, { headers: AUTHORIZED })
  }

  test('is shed under load, and logged', async () => {
    const api = await apiServer({ maxInFlight: 1 })
    const client = await opened(api)
    api.overload.inFlight = 1
    client.send({ type: 'response.create', model: 'm', input: 'x' })
    expect(await client.received(1)).toMatchObject([
      { type: 'error', status: 503, error: { code: 'overloaded' } },
    ])
    expect(api.lines).toMatchObject([{ endpoint: 'responses', status: 503, code: 'overloaded' }])
    expect(api.overload.inFlight).toBe(1)
  })

  test('is authenticated, counted while it runs, and logged once', async () => {
    const api = await apiServer()
    const client = await opened(api)
    const gate = Promise.withResolvers<undefined>()
    api.follower.key = () => gate.promise
    client.send({ type: 'response.create', model: 'm', input: 'x' })
    await vi.waitUntil(() => api.overload.inFlight === 1)
    gate.resolve(undefined)
    expect(await client.received(1)).toMatchObject([
      { type: 'error', status: 401, error: { code: 'unauthorized' } },
    ])
    await vi.waitUntil(() => api.overload.inFlight === 0)
    expect(api.lines).toMatchObject([{ endpoint: 'responses', status: 401 }])
  })

  test('that is not valid is logged', async () => {
    const api = await apiServer()
    const client = await opened(api)
    client.send('{')
    await client.received(1)
    expect(api.lines).toMatchObject([{ endpoint: 'responses', status: 400, code: 'invalid_request' }])
  })

  test('that is refused before authentication is logged with the opener of its socket', async () => {
    const api = await apiServer()
    api.follower.key = async () => testKey({ account: 'account-id' })
    api.follower.account = async () => testAccount()
    const [client, other] = [await opened(api), await opened(api)]
    api.follower.key = async () => undefined
    client.send('{')
    await client.received(1)
    api.overload.inFlight = 1_000
    other.send({ type: 'response.create', model: 'm', input: 'x' })
    await other.received(1)
    const who = {
      key: 'default/alice',
      keyPreview: '...1234',
      namespace: 'default',
      account: 'team',
      client: '127.0.0.1',
    }
    expect(api.lines).toMatchObject([
      { ...who, code: 'invalid_request' },
      { ...who, code: 'overloaded' },
    ])
    expect(api.lines[0]?.requestId).not.toBe(api.lines[1]?.requestId)
  })

  test('with an unexpected error is reported with its request id', async () => {
    const api = await apiServer()
    const client = await opened(api)
    const fault = new Error('SECRET')
    api.follower.key = () => Promise.reject(fault)
    client.send({ type: 'response.create', model: 'm', input: 'x' })
    expect(await client.received(1)).toMatchObject([{ status: 500, error: { code: 'internal_error' } }])
    expect(api.unexpected.mock.calls).toEqual([[fault, api.lines[0]?.requestId]])
  })
})

describe('drain', () => {
  test('closes idle sockets and waits for the others', async () => {
    const api = await apiServer()
    const client = await connect(`${api.origin.replace('http', 'ws')}/v1/responses`, { headers: AUTHORIZED })
    await api.ended(60_000)
    expect((await client.closed).code).toBe(1001)
  })

  test('a socket with a call stays open until the call is over, however old it is', async () => {
    const api = await apiServer()
    const client = await connect(`${api.origin.replace('http', 'ws')}/v1/responses`, { headers: AUTHORIZED })
    const gate = Promise.withResolvers<undefined>()
    api.follower.key = () => gate.promise
    client.send({ type: 'response.create', model: 'm', input: 'x' })
    await vi.waitUntil(() => api.overload.inFlight === 1)
    const later = performance.now() + 10_000
    const clock = vi.spyOn(performance, 'now').mockImplementation(() => later)
    onTestFinished(() => clock.mockRestore())
    const closes = vi.spyOn(api.unused, 'close')
    const ended = api.ended(60_000)
    await vi.waitUntil(() => closes.mock.calls.length > 0)
    expect(api.connections.size).toBe(1)
    gate.resolve(undefined)
    expect((await client.closed).code).toBe(1008)
    expect(client.messages).toMatchObject([{ status: 401 }])
    await ended
  })

  test('a socket that does not end is cut off after the grace period', async () => {
    const api = await apiServer()
    const client = await connect(`${api.origin.replace('http', 'ws')}/v1/responses`, { headers: AUTHORIZED })
    client.ws.pause()
    await api.ended(1)
    await vi.waitUntil(() => api.connections.size === 0)
  })

  test('cuts off a socket whose client does not read, and one that opens too late', async () => {
    const api = await apiServer()
    const url = `${api.origin.replace('http', 'ws')}/v1/responses`
    const client = await connect(url, { headers: AUTHORIZED })
    const gate = Promise.withResolvers<undefined>()
    api.follower.key = () => gate.promise
    client.ws.pause()
    client.send({ type: 'response.create', model: 'm', input: 'x' })
    await vi.waitUntil(() => api.overload.inFlight === 1)
    const ended = api.ended(1)
    await vi.waitUntil(() => api.sockets.size === 0)
    gate.resolve(undefined)
    await ended
    expect(api.connections.size).toBe(0)
  })
})
