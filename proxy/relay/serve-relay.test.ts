import type { IncomingMessage, ServerResponse } from 'node:http'
import { gzipSync } from 'node:zlib'
import { describe, expect, test, vi } from 'vitest'
import { keyHash } from '../../contract/ids.ts'
import { mintKey } from '../../contract/key-format.ts'
import { open, readAll } from '../../test/harness/http.ts'
import { testKey } from '../auth/testing.ts'
import { httpServer, type TestServer } from '../outbound/testing.ts'
import { HEADERS, relayBody, startRelay, type TestRelay, textOf, UPSTREAM_KEY } from './testing.ts'

interface Seen {
  req: IncomingMessage
  body: string
}

/** An upstream that records its requests and answers by `answer`. */
async function upstreamOf(answer: (res: ServerResponse) => void = (res) => void res.end('{}')) {
  const seen: Seen[] = []
  const server = await httpServer(async (req, res) => {
    seen.push({ req, body: await textOf(req) })
    answer(res)
  })
  return { ...server, seen }
}

async function post(relay: TestServer, body: string, headers: Record<string, string> = HEADERS) {
  const res = await open(relay.origin, { method: 'POST', headers, body })
  return { status: res.statusCode, headers: res.headers, bytes: await readAll(res) }
}

async function refusal(relay: TestServer, body: string, headers?: Record<string, string>) {
  const { status, headers: got, bytes } = await post(relay, body, headers)
  return { status, code: got['x-sluice-error'], ...JSON.parse(bytes.toString()).error }
}

describe('the upstream gets', () => {
  const caller = {
    ...HEADERS,
    cookie: 'c=1',
    'x-api-key': 'not-this-one',
    'anthropic-version': '1999-01-01',
    'anthropic-beta': 'mine',
    'accept-encoding': 'br',
    'accept-language': 'de',
    'x-forwarded-for': '192.0.2.1',
    'user-agent': 'mine/1.0',
    'openai-organization': 'org-1',
    te: 'trailers',
  }

  test('the key in the header of its style, the unchanged body, and nothing else of the caller', async () => {
    const relay = await startRelay()
    const upstream = await upstreamOf()
    const body = '{ "model":"m", "n": 1.0,\n "stream":true, "speed":"fast" }'
    const host = new URL(upstream.origin).host
    const common = {
      host,
      'content-type': 'application/json',
      'content-length': String(body.length),
      accept: 'text/event-stream',
      'accept-encoding': 'identity',
      'user-agent': 'sluice',
      connection: 'close',
    }
    await post(relay, relayBody(`${upstream.origin}/v1/chat?a=b%20c#fragment`, 'openai', body), caller)
    await post(relay, relayBody(`${upstream.origin}/v1/messages`, 'Claude', body), caller)
    const [chat, messages] = upstream.seen
    expect(chat).toMatchObject({ body, req: { method: 'POST', url: '/v1/chat?a=b%20c' } })
    expect(chat?.req.headers).toEqual({ ...common, authorization: `Bearer ${UPSTREAM_KEY}` })
    expect(messages).toMatchObject({ body, req: { method: 'POST', url: '/v1/messages' } })
    expect(messages?.req.headers).toEqual({
      ...common,
      'x-api-key': UPSTREAM_KEY,
      'anthropic-version': '2023-06-01',
      'anthropic-beta': 'fast-mode-2026-02-01',
    })
  })

  test('a connection of its own for every call', async () => {
    const relay = await startRelay()
    const upstream = await upstreamOf()
    for (let i = 0; i < 3; i++) await post(relay, relayBody(upstream.origin))
    expect(upstream.accepted()).toBe(3)
    await vi.waitFor(() => expect(upstream.sockets.size).toBe(0))
  })

  test('the decompressed body of a compressed request', async () => {
    const relay = await startRelay()
    const upstream = await upstreamOf()
    const res = await open(relay.origin, {
      method: 'POST',
      headers: { ...HEADERS, 'content-encoding': 'gzip' },
      body: gzipSync(relayBody(upstream.origin)),
    })
    await readAll(res)
    expect(upstream.seen[0]?.body).toBe('{"model":"m"}')
  })
})

describe('the caller gets', () => {
  const everyByte = Buffer.from(Array.from({ length: 100_000 }, (_, i) => (i * 7 + (i >> 8)) & 255))
  const sse = Buffer.from('event: a\r\ndata: {"x":1}\n\n: comment\n\ndata: [DONE]\n\n')
  test.each<[string, number, Record<string, string>, Buffer]>([
    ['JSON', 200, { 'content-type': 'application/json' }, Buffer.from('{ "a": 1.0 }\n')],
    ['a stream', 200, { 'content-type': 'text/event-stream' }, sse],
    ['a compressed body', 200, { 'content-encoding': 'gzip' }, gzipSync('{"a":1}')],
    ['any bytes', 201, { 'content-type': 'application/octet-stream' }, everyByte],
    ['an error', 429, { 'content-type': 'application/json' }, Buffer.from('{"error":{"code":"x"}}')],
    ['an upstream’s failure', 500, {}, Buffer.from('<html>')],
    ['an unknown status', 799, {}, Buffer.from('?')],
    ['nothing', 200, {}, Buffer.alloc(0)],
  ])('%s, byte for byte', async (_name, status, headers, bytes) => {
    const relay = await startRelay()
    const upstream = await upstreamOf((res) => {
      res.writeHead(status, headers)
      for (let at = 0; at < bytes.length; at += 30_000) res.write(bytes.subarray(at, at + 30_000))
      res.end()
    })
    const answer = await post(relay, relayBody(upstream.origin))
    expect(answer.status).toBe(status)
    expect(answer.bytes.equals(bytes)).toBe(true)
    expect(answer.headers).toMatchObject(headers)
    expect(answer.headers['x-sluice-error']).toBeUndefined()
  })

  test('the length if the upstream sent it', async () => {
    const relay = await startRelay()
    const upstream = await upstreamOf((res) => res.writeHead(200, { 'content-length': 5 }).end('hello'))
    const answer = await post(relay, relayBody(upstream.origin))
    expect(answer.headers['content-length']).toBe('5')
    expect(answer.headers['transfer-encoding']).toBeUndefined()
  })

  test.each([204, 304])('%i without a body', async (status) => {
    const relay = await startRelay()
    const upstream = await upstreamOf((res) => void res.writeHead(status).end())
    const answer = await post(relay, relayBody(upstream.origin))
    expect(answer).toMatchObject({ status, bytes: Buffer.alloc(0) })
    expect(answer.headers['content-length']).toBeUndefined()
  })

  test('a redirect without its location; no cookies', async () => {
    const relay = await startRelay()
    const aim = await upstreamOf()
    const upstream = await upstreamOf((res) =>
      res
        .writeHead(307, {
          location: aim.origin,
          'set-cookie': ['a=b', 'c=d'],
          refresh: `0;url=${aim.origin}`,
        })
        .end('gone'),
    )
    const answer = await post(relay, relayBody(upstream.origin))
    expect(answer).toMatchObject({ status: 307, bytes: Buffer.from('gone') })
    expect(Object.keys(answer.headers).sort()).toEqual([
      'cache-control',
      'connection',
      'content-security-policy',
      'date',
      'transfer-encoding',
      'x-content-type-options',
    ])
    expect(aim.accepted()).toBe(0)
  })
})

describe('refused', () => {
  test('while it is off, before anything else', async () => {
    const relay = await startRelay({ settings: { mode: 'off' } })
    expect(await refusal(relay, 'x', {})).toMatchObject({ status: 403, code: 'relay_disabled' })
    expect(relay.lines).toMatchObject([{ endpoint: 'relay', status: 403, code: 'relay_disabled' }])
  })

  test('without an upstream key', async () => {
    const relay = await startRelay()
    const body = relayBody('http://127.0.0.1:1')
    const none: Record<string, string>[] = [{}, { 'x-api-key': 'k' }, { authorization: 'Basic azE6' }]
    for (const headers of none)
      expect(await refusal(relay, body, headers)).toMatchObject({ status: 401, code: 'unauthorized' })
  })

  test.each([
    ['an invalid body', 'no JSON', 'invalid_request', null],
    ['an address that is not allowed', relayBody('http://10.0.0.1/'), 'address_refused', 'url'],
    ['a name that does not resolve', relayBody('http://nowhere.invalid/'), 'address_refused', 'url'],
    ['an invalid URL', relayBody('api.example.com'), 'invalid_request', 'url'],
  ])('%s', async (_name, body, code, param) => {
    const relay = await startRelay()
    expect(await refusal(relay, body)).toMatchObject({
      status: 400,
      code,
      ...(param === null ? {} : { param }),
    })
    expect(relay.facts).toMatchObject([{ endpoint: 'relay', status: 400, error: { code, domain: 'caller' } }])
  })

  test('a body that is not JSON', async () => {
    const relay = await startRelay()
    expect(await refusal(relay, 'a=b', { ...HEADERS, 'content-type': 'text/plain' })).toMatchObject({
      status: 415,
      code: 'unsupported_media_type',
    })
  })

  test('a gateway key as upstream key, minted or not', async () => {
    const own = testKey({ disabled: true })
    const relay = await startRelay({
      findKey: async (hash) => (hash === keyHash('own-key') ? own : undefined),
    })
    const upstream = await upstreamOf()
    for (const key of ['own-key', mintKey()])
      expect(
        await refusal(relay, relayBody(upstream.origin), { ...HEADERS, authorization: `Bearer ${key}` }),
      ).toMatchObject({ status: 400, code: 'invalid_request' })
    expect(upstream.accepted()).toBe(0)
  })

  test('beyond the bound of the process; a finished request makes room', async () => {
    const relay = await startRelay({ settings: { maxInFlight: 1 } })
    const waiting: ServerResponse[] = []
    const upstream = await upstreamOf((res) => void waiting.push(res))
    const first = post(relay, relayBody(upstream.origin))
    await vi.waitFor(() => expect(waiting).toHaveLength(1))
    expect(await refusal(relay, relayBody(upstream.origin))).toMatchObject({
      status: 503,
      code: 'overloaded',
    })
    waiting[0]?.end('{}')
    await first
    expect(relay.relay.rates.inFlight).toBe(0)
    const next = post(relay, relayBody(upstream.origin))
    await vi.waitFor(() => expect(waiting).toHaveLength(2))
    waiting[1]?.end('{}')
    expect((await next).status).toBe(200)
  })

  test('beyond the rates of one client, before its body is read', async () => {
    const relay = await startRelay({ settings: { requestsPerMinute: 1, maxInFlightPerClient: 1 } })
    const upstream = await upstreamOf()
    expect((await post(relay, relayBody(upstream.origin))).status).toBe(200)
    const refused = await post(relay, 'no JSON')
    expect(refused.status).toBe(429)
    expect(refused.headers).toMatchObject({ 'x-sluice-error': 'rate_limit_exceeded', 'retry-after': '60' })
  })
})

describe('where a gateway key is required', () => {
  const key = testKey({ allowedIPs: ['127.0.0.1'] })
  const keys = new Map([
    [keyHash('good'), key],
    [keyHash('elsewhere'), testKey({ allowedIPs: ['192.0.2.1'] })],
    [keyHash('disabled'), testKey({ disabled: true })],
  ])
  const start = (): Promise<TestRelay> =>
    startRelay({
      settings: { requireApiKey: true, requestsPerMinute: 2 },
      findKey: async (hash) => keys.get(hash),
    })

  test('it is read from x-api-key and not sent upstream', async () => {
    const relay = await start()
    const upstream = await upstreamOf()
    const answer = await post(relay, relayBody(upstream.origin), { ...HEADERS, 'x-api-key': 'good' })
    expect(answer.status).toBe(200)
    expect(JSON.stringify(upstream.seen[0]?.req.rawHeaders)).not.toContain('good')
    expect(relay.lines).toMatchObject([
      { key: 'default/alice', keyPreview: '...1234', namespace: 'default', client: '127.0.0.1' },
    ])
  })

  test.each([
    ['none', undefined, 401, 'unauthorized'],
    ['an unknown one', 'unknown', 401, 'unauthorized'],
    ['a disabled one', 'disabled', 401, 'unauthorized'],
    ['one for another address', 'elsewhere', 403, 'ip_not_allowed'],
  ])('%s is refused', async (_name, given, status, code) => {
    const relay = await start()
    const headers = { ...HEADERS, ...(given === undefined ? {} : { 'x-api-key': given }) }
    expect(await refusal(relay, relayBody('http://127.0.0.1:1'), headers)).toMatchObject({ status, code })
  })

  test('rates count per key', async () => {
    const relay = await start()
    keys.set(keyHash('other'), testKey())
    const with_ = async (name: string) =>
      (await post(relay, 'no JSON', { ...HEADERS, 'x-api-key': name })).status
    expect([await with_('good'), await with_('good'), await with_('good'), await with_('other')]).toEqual([
      400, 400, 429, 400,
    ])
  })

  test('a revoked key ends its stream', async () => {
    const relay = await start()
    const upstream = await upstreamOf((res) => void res.write('data: 1\n\n'))
    const res = await open(relay.origin, {
      method: 'POST',
      headers: { ...HEADERS, 'x-api-key': 'good' },
      body: relayBody(upstream.origin),
    })
    keys.delete(keyHash('good'))
    await relay.revocation.recheck([keyHash('good')])
    await expect(readAll(res)).rejects.toMatchObject({ code: 'ECONNRESET' })
    await vi.waitFor(() => expect(upstream.sockets.size).toBe(0))
    expect(relay.lines).toMatchObject([{ status: 200, code: 'unauthorized' }])
  })
})

describe('the log', () => {
  test('has one line with origin, style and bytes; an upstream’s status is not an error of the gateway', async () => {
    const relay = await startRelay()
    const upstream = await upstreamOf((res) => void res.writeHead(503).end('later'))
    await post(relay, relayBody(`http://user:pass@${new URL(upstream.origin).host}/p?q=s`, 'claude'))
    await post(relay, relayBody(`${upstream.origin}/p?q=s`, 'claude'))
    expect(relay.lines).toMatchObject([
      { status: 400, relay: { origin: upstream.origin, style: 'messages', sent: 0, received: 0 } },
      {
        requestId: 'req_test',
        endpoint: 'relay',
        client: '127.0.0.1',
        status: 503,
        outcome: 'finished',
        relay: { origin: upstream.origin, style: 'messages', sent: 13, received: 5 },
      },
    ])
    expect(relay.lines[1]?.code).toBeUndefined()
    expect(relay.facts[1]).toMatchObject({ status: '5xx', error: undefined })
  })

  test('contains nothing else of URL, key, body or answer', async () => {
    const relay = await startRelay()
    const upstream = await upstreamOf(
      (res) => void res.writeHead(400, { 'x-request-id': 'S3CRET' }).end('S3CRET'),
    )
    const key = 'Bearer S3CRET-key'
    const body = '{"model":"S3CRET","stream":true}'
    for (const url of [
      `${upstream.origin}/S3CRET?S3CRET`,
      'http://10.0.0.1/S3CRET',
      'http://S3CRET@127.0.0.1:1/',
      'S3CRET',
    ])
      await post(relay, relayBody(url, 'S3CRET', body), { ...HEADERS, authorization: key })
    expect(relay.lines).toHaveLength(4)
    expect(JSON.stringify([relay.lines, relay.facts])).not.toContain('S3CRET')
    expect(relay.unexpected).toEqual([])
  })
})
