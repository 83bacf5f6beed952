/** How callers use the relay, and what an upstream receives. */
import { gzipSync } from 'node:zlib'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { httpServer } from '../../../proxy/outbound/testing.ts'
import { type RunningGateway, until } from '../../harness/gateway.ts'
import { call } from '../../harness/http.ts'
import { run } from '../../harness/script.ts'
import { envelope, HEADERS, rawUpstream, relay, startRelay, UPSTREAM_KEY } from './setup.ts'

let gateway: RunningGateway
beforeAll(async () => {
  gateway = await startRelay()
})
afterAll(() => gateway.stop())

describe('with curl', () => {
  const curl = (body: string, ...more: string[]) => {
    const headers = Object.entries(HEADERS).flatMap(([name, value]) => ['-H', `${name}: ${value}`])
    const args = ['-sS', '-N', '--max-time', '15', ...headers, '--data-binary', body, ...more]
    return run('curl', [...args, `${gateway.base}/api/proxy`])
  }

  test.each([
    ['openai', '/v1/chat/completions', '{"id":"chatcmpl-1", "choices": []}'],
    ['anthropic', '/v1/messages', '{"id":"msg_1","type":"message"}\n'],
  ])('returns JSON of %s', async (format, path, text) => {
    const upstream = await httpServer((_req, res) => {
      res.writeHead(200, { 'content-type': 'application/json', 'x-request-id': 'up-1' }).end(text)
    })
    const out = await curl(envelope(upstream.origin + path, '{"model":"m"}', format), '-i')
    const [head = '', body] = out.split('\r\n\r\n')
    expect(head).toMatch(/^HTTP\/1\.1 200 OK\r\n/)
    expect(head).toMatch(/^content-type: application\/json\r?$/im)
    expect(head).toMatch(/^x-upstream-request-id: up-1\r?$/im)
    expect(body).toBe(text)
  })

  test.each([
    ['openai', 'data: {"choices":[{"delta":{"content":"Hi"}}]}\n\ndata: [DONE]\n\n'],
    ['claude', 'event: message_start\ndata: {"type":"message_start"}\n\nevent: ping\r\ndata: {}\r\n\r\n'],
  ])('returns a stream of %s', async (format, text) => {
    const upstream = await httpServer((_req, res) => {
      res.writeHead(200, { 'content-type': 'text/event-stream' })
      for (const line of text.split(/(?<=\n)/)) res.write(line)
      res.end()
    })
    expect(await curl(envelope(upstream.origin, '{"model":"m","stream":true}', format))).toBe(text)
  })
})

describe('the upstream receives', () => {
  const UNWANTED = {
    cookie: 'a=b',
    'user-agent': 'caller/1',
    'x-forwarded-for': '192.0.2.1',
    forwarded: 'for=192.0.2.1',
    'anthropic-beta': 'other',
    'anthropic-version': '1999-01-01',
    'openai-organization': 'org',
    'x-api-key': 'another-key',
    'accept-encoding': 'gzip, br',
    traceparent: '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01',
    'proxy-authorization': 'Basic azE6djE=',
    'x-custom': 'caller',
  }

  test.each([
    ['openai', { model: 'm', speed: 'fast' }, [`authorization: Bearer ${UPSTREAM_KEY}`]],
    ['Responses', { model: 'm', stream: true }, [`authorization: Bearer ${UPSTREAM_KEY}`]],
    ['my-CLAUDE', { model: 'm' }, [`x-api-key: ${UPSTREAM_KEY}`, 'anthropic-version: 2023-06-01']],
    [
      'AnthropicMessages',
      { model: 'm', speed: null, stream: true },
      [`x-api-key: ${UPSTREAM_KEY}`, 'anthropic-version: 2023-06-01', 'anthropic-beta: fast-mode-2026-02-01'],
    ],
  ])('exactly these headers in the style of %s', async (format, request, own) => {
    const upstream = await rawUpstream()
    const body = JSON.stringify(request)
    const answer = await relay(gateway, envelope(`${upstream.origin}/a/%2e/b?q=1%20&q#f`, body, format), {
      headers: { ...UNWANTED, ...HEADERS },
    })
    expect(answer).toMatchObject({ status: 200, bytes: Buffer.from('ok') })
    const [first, ...lines] = upstream.requests[0]?.lines ?? []
    // WHATWG URLs read %2e as a dot.
    expect(first).toBe('POST /a/b?q=1%20&q HTTP/1.1')
    const written = lines.map((line) => line.replace(/^[^:]+/, (name) => name.toLowerCase()))
    expect(written.filter((line) => !line.startsWith('user-agent: ')).sort()).toEqual(
      [
        ...own,
        `accept: ${'stream' in request ? 'text/event-stream' : 'application/json'}`,
        'accept-encoding: identity',
        'connection: close',
        `content-length: ${body.length}`,
        'content-type: application/json',
        `host: ${new URL(upstream.origin).host}`,
      ].sort(),
    )
    expect(upstream.requests[0]?.lines.join('\n')).not.toMatch(/caller\/1|192\.0\.2\.1|another-key/)
  })

  test.each([
    ['odd spacing', '{ \t"model"\r\n:\n"m" ,  "messages" : [ ] \n}'],
    ['repeated nested members', '{"model":"m","x":{"a":1,"a":2}}'],
    ['escapes', '{"model":"m\\u0041\\/\\"","k\\u0065y":"\\ud83d\\ude00\\b\\f"}'],
    ['numbers beyond doubles', '{"model":"m","n":[12345678901234567890,1.0,1E+2,-0,0.1e-7,1e400]}'],
    ['any script', '{"model":"mødel","text":"漢字 🙂 \u2028 é e\u0301"}'],
    ['prototype names', '{"model":"m","__proto__":{"x":1},"constructor":{"prototype":{}}}'],
    ['a text that looks like the end', '{"model":"m","text":"}}],\\"body\\":{}"}'],
    ['5 MB', `{"model":"m","text":"${'0123456789'.repeat(500_000)}"}`],
  ])('the exact bytes of the body: %s', async (_name, body) => {
    const upstream = await rawUpstream()
    const around = `\n{ "format" : "chat" ,"ignored":{"body":{}}, "body" :  ${body}\t, "url":${JSON.stringify(upstream.origin)} }\r\n`
    expect(await relay(gateway, around)).toMatchObject({ status: 200, code: undefined })
    expect(upstream.requests[0]?.body.equals(Buffer.from(body))).toBe(true)
  })

  test('the inflated body of a compressed request', async () => {
    const upstream = await rawUpstream()
    await relay(gateway, gzipSync(envelope(upstream.origin)), {
      headers: { ...HEADERS, 'content-encoding': 'gzip' },
    })
    expect(upstream.requests[0]?.body.toString()).toBe('{"model":"m"}')
  })

  test('a new connection for each call', async () => {
    const upstream = await rawUpstream(
      (socket) => void socket.write('HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok'),
    )
    for (let i = 0; i < 3; i++) await relay(gateway, envelope(upstream.origin))
    expect([upstream.accepted(), upstream.requests.length]).toEqual([3, 3])
    await until(() => upstream.sockets.size === 0, 'the connections to be closed')
  })
})

describe('the path', () => {
  test.each(['GET', 'HEAD', 'PUT', 'DELETE', 'OPTIONS', 'PATCH'])('does not allow %s', async (method) => {
    const { status, headers } = await call(`${gateway.base}/api/proxy`, { method, headers: HEADERS })
    expect([status, headers.allow]).toEqual([405, 'POST'])
    expect(headers['x-sluice-error']).toBe('method_not_allowed')
  })

  test.each([
    '/proxy',
    '/v1/proxy',
    '/api/v1/proxy',
    '/api/api/proxy',
    '/api/proxy/',
    '/API/proxy',
    '/api/Proxy',
    '//api/proxy',
    '/api//proxy',
    '/api/proxy/x',
    '/api/proxy.',
    '/api/prox%79/',
  ])('is not %s', async (path) => {
    const upstream = await rawUpstream()
    const answer = await call(gateway.base + path, { body: envelope(upstream.origin), headers: HEADERS })
    expect([answer.status, upstream.accepted()]).toEqual([404, 0])
  })

  test('may have a query, which is ignored', async () => {
    const upstream = await rawUpstream()
    const answer = await call(`${gateway.base}/api/proxy?url=http://192.0.2.1/`, {
      body: envelope(`${upstream.origin}/p`),
      headers: HEADERS,
    })
    expect([answer.status, upstream.requests[0]?.lines[0]]).toEqual([200, 'POST /p HTTP/1.1'])
  })
})
