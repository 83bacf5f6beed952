/** Limits of the HTTP server: requests at a limit are served, those beyond it are refused. */
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { until } from '../../harness/gateway.ts'
import { call, chatBody, expectError, jsonHeaders } from '../../harness/http.ts'
import { connection, exchange, parseAnswer } from '../../harness/socket.ts'
import { AUTH, answersIn, answersTo, good, KEY, PATH, POST, raw, startWorld, type World } from './world.ts'

const BODY = chatBody('m')

describe('limits of headers and connections', () => {
  let world: World
  beforeAll(async () => {
    world = await startWorld({
      SLUICE_MAX_HEADER_BYTES: '2048',
      SLUICE_MAX_HEADERS: '10',
      SLUICE_MAX_REQUESTS_PER_CONNECTION: '3',
      SLUICE_HEADERS_TIMEOUT: '1s',
      SLUICE_REQUEST_TIMEOUT: '3s',
      SLUICE_IDLE_TIMEOUT: '2s',
    })
  })
  afterAll(() => world?.stop())

  /** A request whose head has `bytes` bytes in `count` headers. */
  function head(bytes: number, count: number): string {
    const headers = [AUTH, 'connection: close', `content-length: ${BODY.length}`]
    const more = Array.from({ length: count - headers.length - 2 }, (_, i) => `x-${i}: 1`)
    const [end] = raw(POST, [...headers, ...more, 'x-pad: '], '').match(/^[\s\S]*$/) ?? ['']
    return raw(POST, [...headers, ...more, `x-pad: ${'p'.repeat(bytes - end.length)}`], BODY)
  }

  it.each([
    [2_048, 10, 200],
    [2_049, 10, 431],
    [1_024, 10, 200],
    [1_024, 11, 431],
    [1_024, 200, 431],
    [100_000, 10, 431],
  ])('answers a head of %d bytes in %d headers with %d', async (bytes, count, status) => {
    const text = head(Math.max(bytes, count * 12), count)
    expect(text.indexOf('\r\n\r\n') + 4).toBeGreaterThanOrEqual(bytes)
    expect(text.slice(0, text.indexOf('\r\n\r\n')).split('\r\n').length - 1).toBe(count)
    const answer = await exchange(world.gateway.base, text)
    if (status === 200) expect(answer.status).toBe(200)
    else {
      expectError(answer, 431, 'headers_too_large')
      expect(answer.headers['x-sluice-error']).toBe('headers_too_large')
    }
  })

  it('counts the request line', async () => {
    const target = (length: number) => `/${'x'.repeat(length - 1)}`
    const rest = 'GET  HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n'.length
    const ask = (length: number) =>
      exchange(world.gateway.base, raw(`GET ${target(length)} HTTP/1.1`, ['connection: close']))
    expectError(await ask(2_048 - rest), 404, 'not_found')
    expectError(await ask(2_049 - rest), 431, 'headers_too_large')
  })

  it('serves three requests of a connection and closes it', async () => {
    const before = world.upstream.requests.length
    const answers = await answersTo(world.gateway.base, good().repeat(5), 3)
    expect(answers.map(({ status, headers }) => [status, headers.connection])).toEqual([
      [200, 'keep-alive'],
      [200, 'keep-alive'],
      [200, 'close'],
    ])
    expect(world.upstream.requests.length).toBe(before + 3)
  })

  it('closes an idle connection after the idle timeout', async () => {
    const { socket, received, closed } = await connection(world.gateway.base, good())
    await until(() => received() !== '', 'the answer')
    expect(parseAnswer(received()).headers['keep-alive']).toBe('timeout=2')
    const idleSince = performance.now()
    await until(() => performance.now() - idleSince > 1_500, 'most of the timeout')
    socket.write(good())
    await until(() => received().split('HTTP/1.1 200').length === 3, 'the second answer')
    const startedAt = performance.now()
    expect(answersIn(await closed)).toHaveLength(2)
    expect(performance.now() - startedAt).toBeGreaterThan(1_900)
  })

  it.each([
    ['nothing at all', '', 900],
    ['half a head', `${POST}\r\n`, 900],
    ['half a body', raw(POST, [AUTH, 'content-length: 100'], '{'), 2_900],
    ['half a chunk', raw(POST, [AUTH, 'transfer-encoding: chunked'], 'ff\r\n{'), 2_900],
  ])('answers a client that sends %s with 408 after the timeout', async (_what, bytes, least) => {
    const startedAt = performance.now()
    const answer = await exchange(world.gateway.base, bytes)
    expectError(answer, 408, 'request_timeout', null, 'timeout')
    expect(answer.headers).toMatchObject({ 'x-sluice-error': 'request_timeout', connection: 'close' })
    expect(performance.now() - startedAt).toBeGreaterThan(least)
  })
})

describe('limits of concurrent connections', () => {
  let world: World
  const opened: Socket[] = []
  beforeAll(async () => {
    world = await startWorld({
      SLUICE_MAX_CONNECTIONS: '12',
      SLUICE_MAX_CONNECTIONS_PER_CLIENT: '4',
      SLUICE_TRUSTED_PROXIES: '127.0.0.9',
      SLUICE_HEADERS_TIMEOUT: '60s',
      SLUICE_HOST: '::',
    })
  })
  afterAll(async () => {
    for (const socket of opened) socket.destroy()
    await world?.stop()
  })

  async function openFrom(localAddress: string, host = '127.0.0.1') {
    const socket = connect({ port: Number(new URL(world.gateway.base).port), host, localAddress })
    let received = ''
    opened.push(socket)
    socket.on('error', () => undefined).on('data', (chunk) => (received += chunk))
    const closed = new Promise<string>((resolve) => socket.on('close', () => resolve(received)))
    await once(socket, 'connect')
    return { socket, received: () => received, closed }
  }
  const openSome = (count: number, from: string, host?: string) =>
    Promise.all(Array.from({ length: count }, () => openFrom(from, host)))
  async function close(connections: { socket: Socket }[]) {
    for (const { socket } of connections) socket.destroy()
    // Once another client is served, the gateway has noticed.
    await until(async () => {
      const answer = await call(world.gateway.base + PATH, { body: BODY, headers: jsonHeaders(KEY) }).catch(
        () => undefined,
      )
      return answer?.status === 200
    }, 'the connections to be gone')
  }
  async function expectServed({ socket, received }: Awaited<ReturnType<typeof openFrom>>) {
    socket.write(good())
    await until(() => received() !== '', 'an answer')
    expect(parseAnswer(received()).status).toBe(200)
  }
  async function expectRefused({ closed }: { closed: Promise<string> }, status: number, code: string) {
    const [answer, ...more] = answersIn(await closed)
    expect(more).toEqual([])
    expect(answer).toMatchObject({
      status,
      headers: { 'x-sluice-error': code, 'retry-after': '1', connection: 'close' },
    })
    expect(JSON.parse(answer?.text ?? '').error.code).toBe(code)
  }

  it.each([
    ['an IPv4 address', '127.0.0.2', '127.0.0.1'],
    ['an IPv6 address', '::1', '::1'],
  ])(
    'serves four of %s, refuses a fifth with a reason and serves other clients',
    async (_what, from, host) => {
      const four = await openSome(4, from, host)
      for (const one of four) await expectServed(one)
      const before = world.upstream.requests.length
      const fifth = await openFrom(from, host)
      fifth.socket.write(good())
      await expectRefused(fifth, 429, 'rate_limit_exceeded')
      expect(world.upstream.requests.length).toBe(before)
      const other = await openFrom('127.0.0.3')
      await expectServed(other)
      await close([...four, other])
      const again = await openFrom(from, host)
      await expectServed(again)
      await close([again])
    },
  )

  it('applies only the total limit to a trusted proxy: a thirteenth connection gets 503', async () => {
    const twelve = await openSome(12, '127.0.0.9')
    for (const one of twelve) await expectServed(one)
    await expectRefused(await openFrom('127.0.0.4'), 503, 'overloaded')
    await expectRefused(await openFrom('127.0.0.9'), 503, 'overloaded')
    await close(twelve)
  })

  it('connections beyond the limit hold no resources', async () => {
    const four = await openSome(4, '127.0.0.5')
    for (const one of four) await expectServed(one)
    const beyond = await openSome(300, '127.0.0.5')
    const answers = await Promise.all(beyond.map(({ closed }) => closed))
    for (const text of answers) if (text !== '') expect(parseAnswer(text).status).toBe(429)
    expect(answers.filter((text) => text !== '').length).toBeGreaterThanOrEqual(1)
    await expectServed(await openFrom('127.0.0.6'))
  })
})
