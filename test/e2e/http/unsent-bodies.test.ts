/** Refusals and 100 Continue before a body is sent, and refusals in the middle of it. */
import { once } from 'node:events'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { startGateway, until } from '../../harness/gateway.ts'
import { chatBody, expectError } from '../../harness/http.ts'
import { connection, exchange, parseAnswer, requestBytes } from '../../harness/socket.ts'
import { AUTH, PATH, POST, startWorld, type World } from './world.ts'

const CANARY = 'canary-in-a-request'
const BODY = chatBody('m', { user: CANARY })

let world: World

beforeAll(async () => {
  world = await startWorld({ SLUICE_REQUEST_TIMEOUT: '2500ms' })
})
afterAll(() => world?.stop())
afterEach(async () => {
  await world.servesOthers()
  expect(world.gateway.output()).not.toContain(CANARY)
})

describe('Expect: 100-continue', () => {
  const expecting = (more: string[], length = BODY.length) =>
    requestBytes(POST, [...more, 'expect: 100-continue'], '', `content-length: ${length}`)

  it('asks for the body of a valid request', async () => {
    const body = chatBody('m')
    const { socket, received, closed } = await connection(world.gateway.base, expecting([AUTH], body.length))
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
    expectError(await exchange(world.gateway.base, bytes), status, code)
  })

  it('ignores unknown expectations', async () => {
    const answer = await exchange(
      world.gateway.base,
      requestBytes(POST, [AUTH, 'expect: miracles'], chatBody('m')),
    )
    expect(answer.status).toBe(200)
  })
})

it('a body that is too slow gets 408, logged under the same request id', async () => {
  const bytes = requestBytes(POST, [AUTH], `{"user":"${CANARY}`, 'content-length: 100')
  const answer = await exchange(world.gateway.base, bytes)
  expectError(answer, 408, 'request_timeout', null, 'timeout')
  const id = answer.headers['x-request-id']
  const line = await until(
    () => world.gateway.requests().find((entry) => entry.requestId === id),
    'the log line',
  )
  expect(line).toMatchObject({ status: 408, attempts: [] })
})

it('the request timeout may be shorter than the default headers timeout', async () => {
  const other = await startGateway({}, { SLUICE_REQUEST_TIMEOUT: '5s' })
  await other.stop()
})

describe('a client that leaves in the middle of its body, after the answer', () => {
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
    const { socket, received, closed } = await connection(world.gateway.base, start)
    await until(() => /\r\n\r\n\{.*\}$/s.test(received()), 'the answer')
    expect(parseAnswer(received()).status).toBe(status)
    socket.end()
    await closed
  })
})

describe('a client that sends its whole body after the refusal', () => {
  it.each(['connection: close', 'connection: keep-alive'])('%s', async (header) => {
    const piece = Buffer.alloc(65_536, ' ')
    const lines = [POST, 'host: x', header, `content-length: ${8 * piece.length}`, '', '']
    const { socket, received } = await connection(world.gateway.base, lines.join('\r\n'))
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
