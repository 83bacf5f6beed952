/** Invalid bodies get a clear answer; the process keeps running and logs no part of them. */
import { gzipSync } from 'node:zlib'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { type RunningGateway, startGateway, until } from '../harness/gateway.ts'
import { type Answer, call, chatBody, expectError, jsonHeaders } from '../harness/http.ts'
import { account, apiKey, channel, route } from '../harness/resources.ts'
import { connection, parseAnswer, requestBytes } from '../harness/socket.ts'
import { type ScriptedUpstream, startUpstream } from '../harness/upstream.ts'

const KEY = 'sk-bad-input-test'
const CANARY = 'canary-in-a-body'
const MAX_BODY = 3_000_000
const PATH = '/v1/chat/completions'

let gateway: RunningGateway
let upstream: ScriptedUpstream

beforeAll(async () => {
  upstream = await startUpstream()
  gateway = await startGateway(
    {
      'all.yaml':
        apiKey('caller', KEY, { accountRef: { name: 'payer' } }) +
        account('payer', '1') +
        channel('main', upstream.baseURL) +
        route('model', 'm', ['main']),
    },
    { SLUICE_MAX_BODY_BYTES: String(MAX_BODY), SLUICE_MAX_INFLATED_BYTES: '2000000' },
  )
})

afterAll(async () => {
  await gateway?.stop()
  await upstream?.close()
})

/** After each test the same process serves a request, and its log contains no part of a body. */
afterEach(async () => {
  expect((await post(chatBody('m'))).status).toBe(200)
  expect(gateway.child.exitCode).toBeNull()
  expect(gateway.output()).not.toContain(CANARY)
})

const post = (body: string | Buffer, headers: Record<string, string> = {}) =>
  call(gateway.base + PATH, { body, headers: jsonHeaders(KEY, headers) })

async function refused(answer: Promise<Answer>, status: number, code: string, param: string | null = null) {
  const seen = upstream.calls.length
  const got = await answer
  expectError(got, status, code, param)
  expect(got.text).not.toContain(CANARY)
  expect(upstream.calls.length).toBe(seen)
}

describe('fields', () => {
  const user = { role: 'user', content: CANARY }
  it.each<[string, object]>([
    ['model', { model: undefined }],
    ['model', { model: null }],
    ['model', { model: 7 }],
    ['model', { model: '' }],
    ['model', { model: [CANARY] }],
    ['model', { model: { name: CANARY } }],
    ['model', { model: `${CANARY}\u0000` }],
    ['model', { model: `${CANARY}\n` }],
    ['model', { model: CANARY + 'x'.repeat(1_000_000) }],
    ['messages', { messages: undefined }],
    ['messages', { messages: null }],
    ['messages', { messages: [] }],
    ['messages', { messages: CANARY }],
    ['messages', { messages: { 0: user } }],
    ['messages[0]', { messages: [CANARY] }],
    ['messages[1]', { messages: [user, null] }],
    ['messages[0]', { messages: [[user]] }],
    ['messages[0].role', { messages: [{ content: CANARY }] }],
    ['messages[0].role', { messages: [{ role: 1, content: CANARY }] }],
    ['messages[0].content', { messages: [{ role: 'user' }] }],
    ['messages[0].content', { messages: [{ role: 'user', content: null }] }],
    ['messages[0].content', { messages: [{ role: 'user', content: 5 }] }],
    ['messages[0].content', { messages: [{ role: 'user', content: { text: CANARY } }] }],
    ['messages[1].content[0]', { messages: [user, { role: 'user', content: [CANARY] }] }],
    [
      'messages[0].content[1].type',
      { messages: [{ role: 'user', content: [{ type: 'text', text: CANARY }, {}] }] },
    ],
    ['stream', { stream: 'true' }],
    ['stream', { stream: 1 }],
    ['stream_options', { stream: true, stream_options: [] }],
    ['stream_options', { stream_options: { include_usage: true } }],
    ['stream_options.include_usage', { stream: true, stream_options: { include_usage: 'yes' } }],
    ['max_tokens', { max_tokens: '10' }],
    ['max_tokens', { max_tokens: 1.5 }],
    ['max_tokens', { max_tokens: -1 }],
    ['max_tokens', { max_tokens: 1e300 }],
    ['max_completion_tokens', { max_completion_tokens: true }],
    ['n', { n: 0 }],
    ['n', { n: 1_000_000 }],
    ['n', { n: '2' }],
    ['service_tier', { service_tier: 5 }],
    ['tools', { tools: { type: 'function' } }],
  ])('names %s in the error', async (param, more) => {
    await refused(post(chatBody('m', more)), 400, 'invalid_request', param)
  })

  it.each([
    ['a second model', '{"model":"m","messages":[{"role":"user","content":"x"}],"model":"other"}', 'model'],
    ['an escaped model', '{"mod\\u0065l":"m","messages":[{"role":"user","content":"x"}]}', 'model'],
    [
      'a plain and an escaped model',
      '{"model":"m","\\u006dodel":"other","messages":[{"role":"user","content":"x"}]}',
      'model',
    ],
    [
      'a second stream',
      '{"model":"m","stream":true,"messages":[{"role":"user","content":"x"}],"stream":false}',
      'stream',
    ],
  ])('refuses %s, because an upstream could use the other value', async (_what, body, param) => {
    await refused(post(body), 400, 'invalid_request', param)
  })

  it('passes unread fields on byte for byte', async () => {
    const body =
      '{ "a":1,"a":2, "\\u0062":[1.0,1e5], "big":12345678901234567890,\n"__proto__":{"model":"other","stream":true},' +
      '"constructor":null,"model":"m","messages":[{"role":"user","content":null,"tool_calls":[{}]}],"max_tokens":null}'
    expect((await post(body)).status).toBe(200)
    expect(upstream.calls.at(-1)?.body.toString()).toBe(body)
  })

  it('reads no fields from __proto__', async () => {
    await refused(post('{"__proto__":{"model":"m","messages":[{}]}}'), 400, 'invalid_request', 'model')
  })
})

describe('refuses bodies that are not a JSON object', () => {
  const good = Buffer.from(chatBody('m', { user: CANARY }))
  it.each<[string, string | Buffer]>([
    ['empty', ''],
    ['blank', ' \n'],
    ['cut', good.subarray(0, -1)],
    ['with more text after it', `${good}}`],
    ['two objects', `${good}${good}`],
    ['text', CANARY],
    ['single quotes', `{'model':'${CANARY}'}`],
    ['a trailing comma', `{"model":"m","user":"${CANARY}",}`],
    ['an array', `[${good}]`],
    ['null', 'null'],
    ['a number', '1'],
    ['a string', `"${CANARY}"`],
    ['NaN', '{"model":NaN}'],
    ['a BOM', Buffer.concat([Buffer.from([0xef, 0xbb, 0xbf]), good])],
    ['UTF-16', Buffer.from(good.toString(), 'utf16le')],
    [
      'invalid UTF-8',
      Buffer.concat([Buffer.from(`{"${CANARY}":"`), Buffer.from([0xc3, 0x28]), Buffer.from('"}')]),
    ],
    ['an overlong form', Buffer.concat([good.subarray(0, -2), Buffer.from([0xc0, 0xaf]), Buffer.from('"}')])],
    ['a NUL byte', `{"model":"m\u0000","user":"${CANARY}"}`],
    ['NUL bytes', Buffer.alloc(1_000)],
    ['10,000 arrays', `{"model":"m","x":${'['.repeat(10_000)}${']'.repeat(10_000)}}`],
    ['10,000 objects, unclosed', '{"a":'.repeat(10_000)],
    [
      '65 levels',
      `{"model":"m","messages":[{"role":"user","content":"x"}],"x":${'['.repeat(64)}${']'.repeat(64)}}`,
    ],
    [
      '60,000 keys',
      JSON.stringify(Object.fromEntries(Array.from({ length: 60_000 }, (_, i) => [`k${i}`, 0]))),
    ],
    ['2 million quotes', '"'.repeat(2_000_000)],
    ['2 million backslashes', `{"model":"${'\\'.repeat(2_000_000)}`],
  ])('%s', async (_what, body) => {
    await refused(post(body), 400, 'invalid_request')
  })

  it('accepts 64 levels and many numbers', async () => {
    const deep = `${'['.repeat(63)}${'1,'.repeat(300_000)}1${']'.repeat(63)}`
    expect((await post(`{"x":${deep},${chatBody('m').slice(1)}`)).status).toBe(200)
  })
})

describe('size', () => {
  it('accepts a body at the limit, and not one byte more', async () => {
    const frame = chatBody('m', { user: '' }).length
    expect((await post(chatBody('m', { user: 'x'.repeat(MAX_BODY - frame) }))).status).toBe(200)
    const over = chatBody('m', { user: CANARY + 'x'.repeat(MAX_BODY - frame - CANARY.length + 1) })
    await refused(post(over), 413, 'request_too_large')
  })

  it('refuses a declared length beyond the limit before the body is sent', async () => {
    const start = requestBytes(
      `POST ${PATH} HTTP/1.1`,
      [`authorization: Bearer ${KEY}`],
      '',
      `content-length: ${MAX_BODY + 1}`,
    )
    const { socket, received } = await connection(gateway.base, start)
    const answer = await until(() => received().includes('}}') && parseAnswer(received()), 'the refusal')
    expectError(answer, 413, 'request_too_large')
    socket.destroy()
  })

  it('refuses a chunked body beyond the limit and closes the connection', async () => {
    // No `connection: close`: the client would keep the connection.
    const lines = [
      `POST ${PATH} HTTP/1.1`,
      'host: x',
      `authorization: Bearer ${KEY}`,
      'transfer-encoding: chunked',
    ]
    const head = `${lines.join('\r\n')}\r\n\r\n6\r\n{"a":"\r\n`
    const { socket, received, closed } = await connection(gateway.base, head)
    const chunk = Buffer.from(`10000\r\n${CANARY.padEnd(0x10000, 'x')}\r\n`)
    let over = false
    let sent = 0
    const pour = () => {
      while (!over && socket.write(chunk)) sent += chunk.length
      if (!over) socket.once('drain', pour)
    }
    pour()
    await closed.finally(() => {
      over = true
    })
    expectError(parseAnswer(received()), 413, 'request_too_large')
    // The gateway stopped reading although the client kept sending.
    expect(sent).toBeGreaterThan(MAX_BODY)
  })
})

describe('encodings and types', () => {
  const gzip = { 'content-encoding': 'gzip' }
  it('inflates gzip', async () => {
    const body = chatBody('m', { user: 'zipped' })
    expect((await post(gzipSync(body), gzip)).status).toBe(200)
    const got = upstream.calls.at(-1)
    expect(got?.body.toString()).toBe(body)
    expect(got?.headers['content-encoding']).toBeUndefined()
    expect((await post(body, { 'content-encoding': 'identity' })).status).toBe(200)
  })

  it.each<[string, Buffer, number, string]>([
    ['a bomb', gzipSync(chatBody('m', { user: '0'.repeat(20_000_000) })), 413, 'request_too_large'],
    ['cut off', gzipSync(chatBody('m')).subarray(0, -9), 400, 'invalid_request'],
    [
      'a broken checksum',
      Buffer.concat([gzipSync(chatBody('m')).subarray(0, -8), Buffer.alloc(8)]),
      400,
      'invalid_request',
    ],
    ['not gzip', Buffer.from(chatBody('m')), 400, 'invalid_request'],
    ['empty', Buffer.alloc(0), 400, 'invalid_request'],
  ])('refuses gzip that is %s', async (_what, body, status, code) => {
    await refused(post(body, gzip), status, code)
  })

  it.each(['br', 'zstd', 'deflate', 'gzip, gzip', CANARY])('refuses the encoding %s', async (encoding) => {
    await refused(post(chatBody('m'), { 'content-encoding': encoding }), 415, 'unsupported_media_type')
  })

  it.each(['text/plain', 'multipart/form-data; boundary=x', 'application/x-www-form-urlencoded', 'json'])(
    'refuses the content type %s',
    async (type) => {
      await refused(post(chatBody('m'), { 'content-type': type }), 415, 'unsupported_media_type')
    },
  )

  it.each(['application/json; charset=utf-8', 'Application/JSON', 'application/vnd.api+json', ''])(
    'accepts the content type %j',
    async (type) => {
      expect((await post(chatBody('m'), { 'content-type': type })).status).toBe(200)
    },
  )
})

it('ends a request that its client breaks off', async () => {
  const half = requestBytes(
    `POST ${PATH} HTTP/1.1`,
    [`authorization: Bearer ${KEY}`],
    `{"user":"${CANARY}`,
    'content-length: 500',
  )
  const { socket } = await connection(gateway.base, half)
  await until(async () => (await inFlight()) === 1, 'the request to begin')
  socket.destroy()
  await until(async () => (await inFlight()) === 0, 'the request to be over')
  const line = await until(
    () => gateway.requests().find(({ outcome }) => outcome === 'client_gone'),
    'its line in the request log',
  )
  expect(line.attempts).toEqual([])
})

async function inFlight(): Promise<number> {
  const { text } = await call(`${gateway.admin}/metrics`)
  return Number(/^sluice_requests_in_flight (\d+)$/m.exec(text)?.[1] ?? Number.NaN)
}
