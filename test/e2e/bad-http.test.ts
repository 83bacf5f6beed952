/** Requests that are no good HTTP, or go nowhere: a clear answer, and the process lives on. */
import { once } from 'node:events'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { type RunningGateway, startGateway, until } from '../harness/gateway.ts'
import { call, chatBody, expectError, jsonHeaders } from '../harness/http.ts'
import { apiKey, channel, route } from '../harness/resources.ts'
import { connection, exchange, parseAnswer, requestBytes } from '../harness/socket.ts'
import { type ScriptedUpstream, startUpstream } from '../harness/upstream.ts'

const KEY = 'sk-bad-http-test'
const CANARY = 'canary-in-a-request'
const PATH = '/v1/chat/completions'
const AUTH = `authorization: Bearer ${KEY}`
const POST = `POST ${PATH} HTTP/1.1`
const BODY = chatBody('m', { user: CANARY })

let gateway: RunningGateway
let upstream: ScriptedUpstream

beforeAll(async () => {
  upstream = await startUpstream()
  gateway = await startGateway(
    { 'all.yaml': apiKey('caller', KEY) + channel('main', upstream.baseURL) + route('model', 'm', ['main']) },
    { SLUICE_HEADERS_TIMEOUT: '500ms', SLUICE_REQUEST_TIMEOUT: '2500ms' },
  )
})

afterAll(async () => {
  await gateway?.stop()
  await upstream?.close()
})

afterEach(async () => {
  const calls = upstream.calls.length
  const good = await call(gateway.base + PATH, { body: chatBody('m'), headers: jsonHeaders(KEY) })
  expect(good.status).toBe(200)
  expect(upstream.calls.length).toBe(calls + 1)
  expect(gateway.child.exitCode).toBeNull()
  expect(gateway.output()).not.toContain(CANARY)
})

describe('paths and methods', () => {
  it.each([
    '/',
    '/v1',
    '/api',
    '/v1/chat',
    '/v1/chat/completions/more',
    '/V1/chat/completions',
    `//v1/chat/completions`,
    '/v1//chat/completions',
    '/api/api/v1/chat/completions',
    '/apiv1/chat/completions',
    '/v1/chat/../chat/completions',
    '/v1/chat%2Fcompletions',
    '/v1/chat/completions%00',
    '/.env',
    `/${CANARY}?key=${CANARY}`,
    `/${'x'.repeat(10_000)}`,
  ])('%s is 404', async (path) => {
    const answer = await exchange(gateway.base, requestBytes(`POST ${path} HTTP/1.1`, [AUTH], BODY))
    expectError(answer, 404, 'not_found')
  })

  it.each(['/v1/models/%zz', '/api/v1/models/%zz', '/v1/models/%ff', '/v1/models/x%'])(
    '%s is 400: it does not decode',
    async (path) => {
      expectError(
        await exchange(gateway.base, requestBytes(`GET ${path} HTTP/1.1`, [AUTH])),
        400,
        'invalid_request',
      )
    },
  )

  it.each([
    ['GET', PATH, 'POST'],
    ['PUT', `/api${PATH}`, 'POST'],
    ['DELETE', PATH, 'POST'],
    ['OPTIONS', PATH, 'POST'],
    ['PROPFIND', PATH, 'POST'],
    ['POST', '/v1/models', 'GET, HEAD'],
    ['DELETE', '/v1/models/m', 'GET, HEAD'],
    ['PATCH', '/api/v1/models/m', 'GET, HEAD'],
  ])('%s %s is 405 and says %s', async (method, path, allowed) => {
    const answer = await exchange(gateway.base, requestBytes(`${method} ${path} HTTP/1.1`, [AUTH], BODY))
    expectError(answer, 405, 'method_not_allowed')
    expect(answer.headers.allow).toBe(allowed)
  })

  it('answers HEAD as GET, without the body', async () => {
    const [head, get] = await Promise.all(
      ['HEAD', 'GET'].map((method) =>
        call(`${gateway.base}/v1/models`, { method, headers: jsonHeaders(KEY) }),
      ),
    )
    expect(head?.status).toBe(200)
    expect(head?.text).toBe('')
    expect(head?.headers['content-length']).toBe(String(Buffer.byteLength(get?.text ?? '')))
    const refusal = await call(gateway.base + PATH, { method: 'HEAD' })
    expect(refusal.status).toBe(405)
    expect(refusal.text).toBe('')
  })

  it('takes a query and a slash at the end', async () => {
    for (const path of [`${PATH}?beta=true&x=%zz`, `${PATH}/`, `/api${PATH}?`]) {
      const answer = await call(gateway.base + path, { body: chatBody('m'), headers: jsonHeaders(KEY) })
      expect(answer.status).toBe(200)
    }
  })
})

describe('headers', () => {
  it('refuses headers larger than 16 KiB', async () => {
    const answer = await exchange(
      gateway.base,
      requestBytes(POST, [AUTH, `x-large: ${CANARY.repeat(1_000)}`], BODY),
    )
    expectError(answer, 431, 'headers_too_large')
  })

  it.each([150, 250])('refuses %d headers, and takes 90', async (count) => {
    const lines = (n: number) => Array.from({ length: n }, (_, i) => `x-${i}: 1`)
    expectError(
      await exchange(gateway.base, requestBytes(POST, [AUTH, ...lines(count)], BODY)),
      431,
      'headers_too_large',
    )
    expect(
      (await exchange(gateway.base, requestBytes(POST, [AUTH, ...lines(90)], chatBody('m')))).status,
    ).toBe(200)
  })

  it.each<[string, string[]]>([
    ['two hosts', [AUTH, 'host: other']],
    ['a NUL', [AUTH, `x-a: ${CANARY}\u0000`]],
    ['a bare CR', [AUTH, `x-a: ${CANARY}\rx-b: 1`]],
    ['no name', [AUTH, `: ${CANARY}`]],
    ['a name with a space', [AUTH, `content length : ${CANARY}`]],
    ['a folded line', [AUTH, 'x-a: 1', ` ${CANARY}`]],
  ])('refuses %s', async (_what, lines) => {
    expectError(await exchange(gateway.base, requestBytes(POST, lines, BODY)), 400, 'invalid_request')
  })

  it('refuses a request without a host', async () => {
    const bytes = `${POST}\r\n${AUTH}\r\ncontent-length: ${BODY.length}\r\n\r\n${BODY}`
    expectError(await exchange(gateway.base, bytes), 400, 'invalid_request')
  })
})

describe('framing', () => {
  const chunked = `5\r\n${BODY.slice(0, 5)}\r\n0\r\n\r\n`
  it.each<[string, Buffer | string]>([
    ['both lengths', requestBytes(POST, [AUTH, 'transfer-encoding: chunked'], chunked)],
    ['two lengths', requestBytes(POST, [AUTH, 'content-length: 5'], BODY)],
    ['a signed length', requestBytes(POST, [AUTH], BODY, `content-length: +${BODY.length}`)],
    ['a list of lengths', requestBytes(POST, [AUTH], BODY, `content-length: ${BODY.length}, ${BODY.length}`)],
    [
      'a coding that is not chunked last',
      requestBytes(POST, [AUTH, 'transfer-encoding: chunked, gzip'], chunked, ''),
    ],
    ['a masked coding', requestBytes(POST, [AUTH, 'transfer-encoding: xchunked'], chunked, '')],
    ['a bad chunk', requestBytes(POST, [AUTH, 'transfer-encoding: chunked'], `zz\r\n${BODY}`, '')],
    [
      'a chunk size out of range',
      requestBytes(POST, [AUTH, 'transfer-encoding: chunked'], `fffffffffffffffff\r\n`, ''),
    ],
    [
      'HTTP/1.0 with Transfer-Encoding',
      requestBytes(`POST ${PATH} HTTP/1.0`, [AUTH, 'transfer-encoding: chunked'], chunked, ''),
    ],
    ['HTTP/0.9', `GET ${PATH}\r\n\r\n`],
    ['HTTP/2 in clear', 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'],
    ['a version that does not exist', requestBytes(`POST ${PATH} HTTP/1.7`, [AUTH], BODY)],
    ['an absolute target', requestBytes(`POST http://localhost${PATH} HTTP/1.1`, [AUTH], BODY)],
    ['an asterisk', requestBytes('OPTIONS * HTTP/1.1', [AUTH])],
    ['an unknown method', requestBytes(`FETCH ${PATH} HTTP/1.1`, [AUTH], BODY)],
    ['a TLS hello', Buffer.from('16030100f4010000f00303a1b2c3', 'hex')],
    ['garbage', Buffer.from(Array.from({ length: 3_000 }, (_, i) => (i * 7919) % 256))],
    ['a body alone', `${BODY}\r\n\r\n`],
  ])('refuses %s', async (_what, bytes) => {
    const answer = await exchange(gateway.base, bytes)
    expectError(answer, 400, 'invalid_request')
    expect(answer.headers.connection).toBe('close')
  })

  it('never takes the rest of a refused body for a request', async () => {
    const inner = requestBytes(POST, [AUTH], chatBody('m'))
    const calls = upstream.calls.length
    for (const length of ['content-length: 5', 'transfer-encoding: chunked\r\ncontent-length: 5']) {
      const bytes = requestBytes(
        'POST /nowhere HTTP/1.1',
        [AUTH],
        Buffer.concat([Buffer.from('0\r\n\r\n'), inner]),
        length,
      )
      const text = await (await connection(gateway.base, bytes)).closed
      expect(text.match(/^HTTP\/1\.1 \d+/gm)).toHaveLength(1)
    }
    expect(upstream.calls.length).toBe(calls)
  })
})

describe('slow clients', () => {
  it('cuts off slow headers with a 408', async () => {
    const startedAt = performance.now()
    expectError(
      await exchange(gateway.base, `${POST}\r\nhost: x\r\n`),
      408,
      'request_timeout',
      null,
      'timeout',
    )
    expect(performance.now() - startedAt).toBeLessThan(2_400)
  })

  it('cuts off a slow body with a 408, which the log has under the same id', async () => {
    const bytes = requestBytes(POST, [AUTH], `{"user":"${CANARY}`, 'content-length: 100')
    const answer = await exchange(gateway.base, bytes)
    expectError(answer, 408, 'request_timeout', null, 'timeout')
    const id = answer.headers['x-request-id']
    const line = await until(() => gateway.requests().find((entry) => entry.requestId === id), 'the log line')
    expect(line).toMatchObject({ status: 408, attempts: [] })
  })

  it('can be given less time for a request than headers have by default', async () => {
    const other = await startGateway({}, { SLUICE_REQUEST_TIMEOUT: '5s' })
    await other.stop()
  })
})

describe('expectations', () => {
  const expecting = (more: string[], length = BODY.length) =>
    requestBytes(POST, [...more, 'expect: 100-continue'], '', `content-length: ${length}`)

  it('asks for the body of a request that is welcome', async () => {
    const body = chatBody('m')
    const { socket, received, closed } = await connection(gateway.base, expecting([AUTH], body.length))
    await until(() => received().includes('\r\n\r\n'), 'the interim answer')
    expect(received()).toBe('HTTP/1.1 100 Continue\r\n\r\n')
    socket.write(body)
    expect(parseAnswer((await closed).replace(/^HTTP\/1\.1 100 Continue\r\n\r\n/, '')).status).toBe(200)
  })

  it.each<[string, Buffer, number, string]>([
    ['without a key', expecting([]), 401, 'unauthorized'],
    ['too large', expecting([AUTH], 10_000_000_000), 413, 'request_too_large'],
    ['of another type', expecting([AUTH, 'content-type: text/plain']), 415, 'unsupported_media_type'],
  ])('refuses a request %s before its body is sent', async (_what, bytes, status, code) => {
    expectError(await exchange(gateway.base, bytes), status, code)
  })

  it('ignores expectations that it does not know', async () => {
    const answer = await exchange(gateway.base, requestBytes(POST, [AUTH, 'expect: miracles'], chatBody('m')))
    expect(answer.status).toBe(200)
  })
})

describe('a client that goes once it has its answer, in the middle of its body', () => {
  it.each([
    ['without a key', `POST ${PATH} HTTP/1.1`, ['content-length: 500'], 401],
    ['to nowhere', 'POST /nope HTTP/1.1', ['transfer-encoding: chunked'], 404],
    [
      'with a form',
      'POST /v1/images/edits HTTP/1.1',
      ['content-type: multipart/form-data; boundary=x', 'content-length: 500'],
      401,
    ],
  ] as const)('%s', async (_name, line, headers, status) => {
    const start = [line, 'host: x', ...headers, '', '{'].join('\r\n')
    const { socket, received, closed } = await connection(gateway.base, start)
    await until(() => /\r\n\r\n\{.*\}$/s.test(received()), 'the answer')
    expect(parseAnswer(received()).status).toBe(status)
    socket.end()
    await closed
  })
})

describe('a client that reads its refusal late, in the middle of a body that it sends whole', () => {
  it.each(['connection: close', 'connection: keep-alive'])('%s', async (header) => {
    const piece = Buffer.alloc(65_536, ' ')
    const lines = [POST, 'host: x', header, `content-length: ${8 * piece.length}`, '', '']
    const { socket, received } = await connection(gateway.base, lines.join('\r\n'))
    const errors: unknown[] = []
    socket.on('error', (error) => errors.push(error))
    await until(() => received().includes('unauthorized'), 'the answer')
    for (let i = 0; i < 8; i++) await new Promise((sent) => socket.write(piece, sent))
    socket.end()
    await once(socket, 'close')
    expect(errors).toEqual([])
    expectError(parseAnswer(received()), 401, 'unauthorized')
  })
})
