/** The caller gets the upstream's bytes and some of its headers, and nothing from the gateway. */
import type { Socket } from 'node:net'
import { gzipSync } from 'node:zlib'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { httpServer, tcpServer } from '../../../proxy/outbound/testing.ts'
import { type RunningGateway, until } from '../../harness/gateway.ts'
import { readAll } from '../../harness/http.ts'
import { startCanary } from './canary.ts'
import { envelope, openRelay, relay, relayOfTest, startRelay } from './setup.ts'

let gateway: RunningGateway
beforeAll(async () => {
  gateway = await startRelay()
})
afterAll(() => gateway.stop())

test.each([
  ['and continues to read', (socket: Socket) => void socket.resume()],
  ['and stops reading', (socket: Socket) => void socket.pause()],
  ['and closes', (socket: Socket) => void socket.pause().end()],
])('forwards an answer that comes before the body was read: the upstream answers %s', async (_how, then) => {
  const upstream = await tcpServer((socket) => {
    socket.write('HTTP/1.1 413 Too Large\r\ncontent-length: 3\r\n\r\nbig')
    then(socket)
  })
  const body = `{"model":"m","text":"${'x'.repeat(20_000_000)}"}`
  const answer = await relay(gateway, envelope(upstream.origin, body))
  expect(answer).toMatchObject({ status: 413, code: undefined, bytes: Buffer.from('big') })
})

test('reaches a server that listens only on ::1', async () => {
  const server = await startCanary('::1')
  const url = `http://localhost:${server.port}/`
  for (const each of [url, url.replace('localhost', '[::1]')])
    expect(await relay(gateway, envelope(each))).toMatchObject({ status: 200, bytes: Buffer.from('ok') })
  expect(server.reached).toEqual(['::1', '::1'])
})

test('forwards every status, byte for byte', async () => {
  const upstream = await httpServer((req, res) => {
    const status = Number(req.url?.slice(1))
    const body = Buffer.from([status & 255, 0, 255, 13, 10, status >> 8])
    res.writeHead(status, { 'content-type': 'application/octet-stream' }).end(body)
  })
  const next = Array.from({ length: 400 }, (_, i) => 200 + i).values()
  const seen = new Set<number>()
  const worker = async () => {
    for (const status of next) {
      const answer = await relay(gateway, envelope(`${upstream.origin}/${status}`))
      const body = [204, 304].includes(status) ? [] : [status & 255, 0, 255, 13, 10, status >> 8]
      expect([answer.status, answer.code, [...answer.bytes]]).toEqual([status, undefined, body])
      seen.add(status)
    }
  }
  await Promise.all(Array.from({ length: 8 }, worker))
  expect(seen.size).toBe(400)
})

test('forwards compressed bodies unchanged', async () => {
  const bytes = gzipSync('{"a":1}')
  const upstream = await httpServer((_req, res) => {
    res.writeHead(200, { 'content-encoding': 'gzip', 'content-type': 'application/json' }).end(bytes)
  })
  const answer = await relay(gateway, envelope(upstream.origin))
  expect(answer.headers['content-encoding']).toBe('gzip')
  expect(answer.bytes.equals(bytes)).toBe(true)
})

test('forwards each event before the next one is sent', async () => {
  let send: (text: string) => void = () => undefined
  const upstream = await httpServer((_req, res) => {
    res.writeHead(200, { 'content-type': 'text/event-stream' }).flushHeaders()
    send = (text) => void (text === '' ? res.end() : res.write(text))
  })
  const res = await openRelay(gateway, envelope(upstream.origin, '{"model":"m","stream":true}'))
  expect(res.headers['content-type']).toBe('text/event-stream')
  let got = ''
  res.setEncoding('utf8').on('data', (text: string) => {
    got += text
  })
  let sent = ''
  // A chunk need not be a whole event.
  for (const text of ['data: 1\n', '\n', ': ping\n\n', 'event: x\r\ndata: 2\r\n\r\n', 'data: [DONE]']) {
    send(text)
    sent += text
    await until(() => got === sent, JSON.stringify(text))
  }
  send('')
  await until(() => res.complete, 'the end')
  expect(got).toBe(sent)
})

test('forwards only selected headers', async () => {
  const forwarded = {
    'content-type': 'application/json; charset=utf-8',
    'content-length': '2',
    'retry-after': '7',
    'retry-after-ms': '6500',
    'x-should-retry': 'true',
    'x-ratelimit-remaining-requests': '9',
    'anthropic-ratelimit-tokens-reset': '2026-01-01T00:00:00Z',
  }
  const upstream = await httpServer((_req, res) => {
    res.writeHead(307, {
      ...forwarded,
      'request-id': 'up-1',
      location: 'http://192.0.2.1/',
      refresh: '0;url=http://192.0.2.1/',
      'set-cookie': ['a=b', 'c=d'],
      server: 'up',
      via: '1.1 up',
      'alt-svc': 'h3=":443"',
      'strict-transport-security': 'max-age=1',
      'www-authenticate': 'Basic',
      'x-sluice-error': 'overloaded',
      'access-control-allow-origin': '*',
      'content-security-policy': "default-src 'unsafe-inline'",
      'cache-control': 'public, max-age=9999',
      'openai-organization': 'org',
      'cf-ray': 'x',
      'x-powered-by': 'up',
      link: '<x>; rel=preload',
    })
    res.end('{}')
  })
  const { status, headers, code } = await relay(gateway, envelope(upstream.origin))
  expect([status, code]).toEqual([307, undefined])
  const { 'x-request-id': id, 'request-id': same, date, connection, ...rest } = headers
  expect([typeof date, same, connection]).toEqual(['string', id, 'close'])
  expect(id).toMatch(/^req_/)
  expect(rest).toEqual({
    ...forwarded,
    'x-upstream-request-id': 'up-1',
    'cache-control': 'no-store',
    'content-security-policy': 'sandbox',
    'x-content-type-options': 'nosniff',
  })
  expect(upstream.accepted()).toBe(1)
})

test('sends nothing while the upstream is silent for longer than all other timeouts', async () => {
  let answer: () => void = () => undefined
  const upstream = await httpServer((_req, res) => {
    answer = () => void res.writeHead(200, { 'content-type': 'text/event-stream' }).end('data: late\n\n')
  })
  const names = [
    'STREAM_KEEPALIVE',
    'CLIENT_STALL_TIMEOUT',
    'HEADERS_TIMEOUT',
    'REQUEST_TIMEOUT',
    'IDLE_TIMEOUT',
  ]
  const hasty = await relayOfTest({
    ...Object.fromEntries(names.map((name) => [`SLUICE_${name}`, '200ms'])),
    SLUICE_RELAY_CONNECT_TIMEOUT: '200ms',
  })
  const started = performance.now()
  const answered = openRelay(hasty, envelope(upstream.origin, '{"model":"m","stream":true}'))
  await until(() => upstream.accepted() === 1, 'the call')
  await until(() => performance.now() - started > 2_500, 'several times the timeouts')
  answer()
  expect((await readAll(await answered)).toString()).toBe('data: late\n\n')
})
