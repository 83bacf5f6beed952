/** Invalid handshakes, and bytes right after a handshake. */
import { describe, expect, it } from 'vitest'
import { until } from '../../harness/gateway.ts'
import { connection, exchange, parseAnswer } from '../../harness/socket.ts'
import { closeFrame, frame, HANDSHAKE, handshakeBytes, TEXT } from '../../harness/web-socket.ts'
import { AUTHORIZATION, attackedGateway, createMessage, ended } from './attacked-gateway.ts'

const attacked = attackedGateway({ SLUICE_HEADERS_TIMEOUT: '400ms' })

/** The answer to a handshake with these additional lines; the connection must close. */
const handshake = (...lines: string[]) =>
  exchange(attacked.gateway.base, handshakeBytes([...HANDSHAKE, AUTHORIZATION, ...lines]))

describe('refused', () => {
  it.each<[string, string[], number, string]>([
    ['two keys', ['sec-websocket-key: BBBBBBBBBBBBBBBBBBBBBB=='], 400, 'invalid_request'],
    ['the same key twice', ['sec-websocket-key: AAAAAAAAAAAAAAAAAAAAAA=='], 400, 'invalid_request'],
    ['two versions', ['sec-websocket-version: 8'], 426, 'upgrade_required'],
    ['the same version twice', ['sec-websocket-version: 13'], 426, 'upgrade_required'],
    ['an invalid protocol list', ['sec-websocket-protocol: a,,b'], 400, 'invalid_request'],
    ['a protocol twice', ['sec-websocket-protocol: a, a'], 400, 'invalid_request'],
    ['an empty protocol', ['sec-websocket-protocol:'], 400, 'invalid_request'],
    ['two authorizations', ['authorization: Bearer other'], 401, 'unauthorized'],
  ])('%s', async (_what, lines, status, code) => {
    const answer = await handshake('connection: close', ...lines)
    expect(answer.status).toBe(status)
    expect(JSON.parse(answer.text)).toMatchObject({ error: { code } })
    const id = answer.headers['x-request-id']
    expect(id).toMatch(/^req_/)
    // Lines of the parallel socket may come in between.
    const line = await until(
      () => attacked.gateway.requests().find(({ requestId }) => requestId === id),
      'the log line',
    )
    expect(line).toMatchObject({ status, code })
  })

  it.each<[string, string[]]>([
    ['a length', ['content-length: 5']],
    ['chunks', ['transfer-encoding: chunked']],
  ])('a body with %s, which is not the first message', async (_what, lines) => {
    const bytes = handshakeBytes([...HANDSHAKE, AUTHORIZATION, 'connection: close', ...lines])
    const answer = await exchange(attacked.gateway.base, Buffer.concat([bytes, frame(TEXT, createMessage())]))
    expect([answer.status, JSON.parse(answer.text).error.code]).toEqual([400, 'invalid_request'])
  })

  it('without an API key, despite Origin and cookie', async () => {
    const lines = [...HANDSHAKE, 'origin: http://localhost', 'cookie: key=sk-siege-key-0123456789']
    const answer = await exchange(attacked.gateway.base, handshakeBytes(lines))
    expect([answer.status, JSON.parse(answer.text).error.code]).toEqual([401, 'unauthorized'])
  })
})

describe('opened', () => {
  it.each([
    // Any origin is allowed: a page of another site has no API key, because the gateway uses no cookies.
    'origin: https://evil.example',
    'origin: null',
    'sec-websocket-protocol: realtime, openai-insecure-api-key.sk-x',
    'sec-websocket-extensions: permessage-deflate; client_max_window_bits; server_no_context_takeover',
    'sec-websocket-extensions: ,;=broken',
    'cookie: a=b',
  ])('with %s, which is ignored', async (line) => {
    const { socket, received } = await connection(
      attacked.gateway.base,
      handshakeBytes([...HANDSHAKE, AUTHORIZATION, line]),
    )
    const { status, headers } = parseAnswer(
      await until(() => received().includes('\r\n\r\n') && received(), 'the answer'),
    )
    expect(status).toBe(101)
    expect(Object.keys(headers).sort()).toEqual(['connection', 'sec-websocket-accept', 'upgrade'])
    socket.destroy()
  })
})

describe('after the handshake', () => {
  it('serves a message in the same packet', async () => {
    const socket = await attacked.open(frame(TEXT, createMessage()))
    expect(await ended(socket, 1)).toMatchObject({ type: 'response.completed' })
    socket.socket.destroy()
  })

  it.each<[string, string | Buffer, number]>([
    ['an HTTP request', 'GET /v1/models HTTP/1.1\r\nhost: x\r\n\r\n', 1002],
    ['zeros', Buffer.alloc(70_000), 1002],
    ['a TLS hello', Buffer.from('160301020001000000', 'hex'), 1002],
    ['a close', closeFrame(1000), 1000],
  ])('%s closes the connection', async (_what, bytes, code) => {
    const socket = await attacked.open(Buffer.from(bytes))
    expect(await socket.ended).toBe(code)
  })
})

describe('aborted', () => {
  it('answers a handshake that never ends with 408', async () => {
    const slow = await connection(attacked.gateway.base, 'GET /v1/responses HTTP/1.1\r\n')
    const drip = setInterval(() => slow.socket.write('x: y\r\n'), 50)
    const answer = parseAnswer(await slow.closed)
    clearInterval(drip)
    expect([answer.status, JSON.parse(answer.text).error.code]).toEqual([408, 'request_timeout'])
  })

  it('by two hundred clients, each after a different byte', async () => {
    const bytes = handshakeBytes([...HANDSHAKE, AUTHORIZATION])
    for (let n = 0; n < 200; n++) {
      const { socket } = await connection(
        attacked.gateway.base,
        bytes.subarray(0, 1 + (n * bytes.length) / 200),
      )
      socket.resetAndDestroy()
    }
  })

  it('by a client that half-closes right after it', async () => {
    const { socket, closed } = await connection(
      attacked.gateway.base,
      handshakeBytes([...HANDSHAKE, AUTHORIZATION]),
    )
    socket.end()
    await closed
  })
})
