/** Upstreams with malformed or unusual answers. */
import { connect, type Socket } from 'node:net'
import { describe, expect, test, vi } from 'vitest'
import { open, readAll } from '../../test/harness/http.ts'
import { tcpServer } from '../outbound/testing.ts'
import { HEADERS, relayBody, startRelay, type TestRelay } from './testing.ts'

const post = (relay: TestRelay, url: string) =>
  open(relay.origin, { method: 'POST', headers: HEADERS, body: relayBody(url) })

const reply = (text: string) => (socket: Socket) => void socket.end(text, 'latin1')
const CHUNKED = 'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n'

describe('answered with 502', () => {
  test.each<[string, (socket: Socket) => void]>([
    ['closed', (socket) => void socket.end()],
    ['reset', (socket) => void socket.resetAndDestroy()],
    ['not HTTP', reply('220 mail ready\r\n')],
    ['HTTP/0.9', reply('<html>')],
    ['cut headers', reply('HTTP/1.1 200 OK\r\ncontent-')],
    [
      'a protocol switch',
      reply('HTTP/1.1 101 Switching Protocols\r\nupgrade: x\r\nconnection: upgrade\r\n\r\nhi'),
    ],
    ['no status', reply('HTTP/1.1 099 Odd\r\ncontent-length: 2\r\n\r\nhi')],
    ['a status of four digits', reply('HTTP/1.1 2000 Odd\r\n\r\n')],
    [
      'a length and chunks',
      reply('HTTP/1.1 200 OK\r\ncontent-length: 2\r\ntransfer-encoding: chunked\r\n\r\nhi'),
    ],
    ['two lengths', reply('HTTP/1.1 200 OK\r\ncontent-length: 2\r\ncontent-length: 3\r\n\r\nhi!')],
    ['an invalid length', reply('HTTP/1.1 200 OK\r\ncontent-length: -2\r\n\r\nhi')],
    ['a header with a NUL', reply('HTTP/1.1 200 OK\r\nx: a\0b\r\n\r\n')],
    ['a folded header', reply('HTTP/1.1 200 OK\r\nx: a\r\n\0: b\r\n\r\n')],
    ['one header without end', (socket) => flood(socket, 'HTTP/1.1 200 OK\r\nx: ', 'a'.repeat(1_000))],
    ['headers without end', (socket) => flood(socket, 'HTTP/1.1 200 OK\r\n', 'x: a\r\n'.repeat(100))],
    ['only 100s, then the end', reply('HTTP/1.1 100 Continue\r\n\r\n'.repeat(10))],
  ])('%s', async (_name, answer) => {
    const relay = await startRelay()
    const upstream = await tcpServer(answer)
    const res = await post(relay, upstream.origin)
    expect(res.statusCode).toBe(502)
    expect(res.headers['x-sluice-error']).toBe('upstream_error')
    expect(JSON.parse((await readAll(res)).toString()).error.code).toBe('upstream_error')
    expect(relay.lines).toMatchObject([{ status: 502, code: 'upstream_error' }])
    expect(relay.unexpected).toEqual([])
    await vi.waitFor(() => expect(upstream.sockets.size).toBe(0))
  })
})

/** Sends until the other side closes. */
function flood(socket: Socket, head: string, more: string): void {
  socket.write(head)
  const send = () => {
    if (socket.destroyed) return
    if (socket.write(more)) setImmediate(send)
    else socket.once('drain', send)
  }
  send()
}

describe('accepted all the same', () => {
  test.each([
    [
      '100 and 103 before it',
      `HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nlink: x\r\n\r\n${CHUNKED}2\r\nhi\r\n0\r\n\r\n`,
    ],
    ['HTTP/1.0 without a length', 'HTTP/1.0 200 OK\r\n\r\nhi'],
    ['HTTP/1.0 with a length', 'HTTP/1.0 200 OK\r\nconnection: keep-alive\r\ncontent-length: 2\r\n\r\nhi'],
    ['no length', 'HTTP/1.1 200 OK\r\nconnection: close\r\n\r\nhi'],
    ['trailers', `${CHUNKED}2\r\nhi\r\n0\r\nset-cookie: a=b\r\nx-sluice-error: x\r\n\r\n`],
    ['chunk extensions', `${CHUNKED}2;a=b\r\nhi\r\n0\r\n\r\n`],
    ['bytes after its length', 'HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nhi, there'],
    [
      'a second answer after it',
      `${CHUNKED}2\r\nhi\r\n0\r\n\r\nHTTP/1.1 500 No\r\ncontent-length: 2\r\n\r\nno`,
    ],
    [
      'header values that are not ASCII',
      'HTTP/1.1 200 OK\r\ncontent-type: \xe9\xff\r\ncontent-length: 2\r\n\r\nhi',
    ],
    ['no reason', 'HTTP/1.1 200\r\ncontent-length: 2\r\n\r\nhi'],
  ])('%s', async (_name, text) => {
    const relay = await startRelay()
    const upstream = await tcpServer(reply(text))
    const res = await post(relay, upstream.origin)
    expect([res.statusCode, (await readAll(res)).toString()]).toEqual([200, 'hi'])
    expect(res.headers).not.toHaveProperty('x-sluice-error')
    expect(res.trailers).toEqual({})
    await vi.waitFor(() =>
      expect(relay.lines).toMatchObject([{ outcome: 'finished', relay: { received: 2 } }]),
    )
    expect(relay.unexpected).toEqual([])
    await vi.waitFor(() => expect(upstream.sockets.size).toBe(0))
  })

  test.each([204, 304])('%i with a length and stray bytes', async (status) => {
    const relay = await startRelay()
    const upstream = await tcpServer(reply(`HTTP/1.1 ${status} Odd\r\ncontent-length: 5\r\n\r\nhello`))
    const res = await post(relay, upstream.origin)
    expect([res.statusCode, (await readAll(res)).toString()]).toEqual([status, ''])
  })
})

describe('a cut answer is never presented as complete', () => {
  const LENGTH = 'HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\nhi'
  const OPEN = 'HTTP/1.1 200 OK\r\n\r\nhi'
  test.each<[string, string, 'end' | 'reset']>([
    ['shorter than its length', LENGTH, 'end'],
    ['in a chunk', `${CHUNKED}5\r\nhi`, 'end'],
    ['without a last chunk', `${CHUNKED}2\r\nhi\r\n`, 'end'],
    ['in the last chunk', `${CHUNKED}2\r\nhi\r\n0\r\n`, 'end'],
    ['by an invalid chunk', `${CHUNKED}2\r\nhi\r\nzz\r\n`, 'end'],
    ['by a reset', `${CHUNKED}2\r\nhi\r\n`, 'reset'],
    ['by a reset, if only the end of the connection would end it', OPEN, 'reset'],
  ])('%s', async (_name, text, end) => {
    const relay = await startRelay()
    let upstreamSocket: Socket | undefined
    const upstream = await tcpServer((socket) => {
      upstreamSocket = socket
      socket.write(text)
    })
    for (const version of ['1.0', '1.1']) {
      const client = rawPost(relay, version, upstream.origin)
      await vi.waitFor(() => expect(client.text).toContain('hi'))
      if (end === 'end') upstreamSocket?.end()
      else upstreamSocket?.resetAndDestroy()
      await vi.waitFor(() => expect(client.ended).toBeDefined())
      expect(client.text).toMatch(/^HTTP\/1.1 200 OK\r\n/)
      const framed = /\r\n(?:content-length|transfer-encoding): /i.test(client.text)
      // Without framing only a reset shows the cut. With it the connection ends normally, so that no sent byte is lost.
      expect([client.ended, client.text.endsWith('0\r\n\r\n')]).toEqual([
        framed ? 'end' : 'ECONNRESET',
        false,
      ])
    }
    const line = { status: 200, code: 'upstream_error' }
    await vi.waitFor(() => expect(relay.lines).toMatchObject([line, line]))
    expect(relay.unexpected).toEqual([])
  })
})

/** A client on a bare socket: the bytes that it got, and how the connection ended (`end`, or the error). */
function rawPost(relay: TestRelay, version: string, url: string) {
  const body = relayBody(url)
  const client: { text: string; ended: string | undefined; socket: Socket } = {
    text: '',
    ended: undefined,
    socket: connect(Number(new URL(relay.origin).port), '127.0.0.1'),
  }
  client.socket.on('data', (chunk) => {
    client.text += chunk.toString('latin1')
  })
  client.socket.on('end', () => {
    client.ended ??= 'end'
  })
  client.socket.on('error', (error: Error & { code?: string }) => {
    client.ended ??= error.code
  })
  client.socket.write(
    `POST / HTTP/${version}\r\nhost: x\r\nauthorization: ${HEADERS.authorization}\r\ncontent-length: ${body.length}\r\n\r\n${body}`,
  )
  return client
}
