/** Request smuggling: the gateway never turns bytes that parsers read differently into more than one request. */
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { until } from '../../harness/gateway.ts'
import { call, chatBody, jsonHeaders } from '../../harness/http.ts'
import { connection } from '../../harness/socket.ts'
import { AUTH, answersIn, good, KEY, PATH, POST, raw, startWorld, type World } from './world.ts'

const BODY = chatBody('m')
const HEX = BODY.length.toString(16)
const LENGTH = `content-length: ${BODY.length}`
const CHUNKED = 'transfer-encoding: chunked'
const CHUNKS = `${HEX}\r\n${BODY}\r\n0\r\n\r\n`

let world: World

beforeAll(async () => {
  world = await startWorld({ SLUICE_HEADERS_TIMEOUT: '2s', SLUICE_REQUEST_TIMEOUT: '2s' })
})
afterAll(() => world?.stop())
afterEach(async () => {
  const other = await call(world.gateway.base + PATH, {
    body: chatBody('m', { user: 'other' }),
    headers: jsonHeaders(KEY),
  })
  expect(other.status).toBe(200)
})

const post = (headers: string[], body: string) => raw(POST, [AUTH, ...headers], body)
const chunked = (body: string) => post([CHUNKED], body)
const withLine = (line: string) => good().replace(POST, line)

/** A further request, hidden after the bytes. */
const SMUGGLED = raw(POST, [AUTH, `content-length: ${BODY.length}`], BODY)

/** Upstream requests with the tests' body. */
const served = () => world.upstream.requests.filter(({ body }) => body === BODY)

/** Sends the bytes and the smuggled request: asserts one answer and no upstream request. */
async function expectRefused(bytes: string, status: number, code: string) {
  const { closed } = await connection(world.gateway.base, Buffer.from(bytes + SMUGGLED, 'latin1'))
  const answers = answersIn(await closed)
  expect(served()).toEqual([])
  expect(world.upstream.strayBytes()).toBe(0)
  expect(answers.map((answer) => answer.status)).toEqual([status])
  const [answer] = answers
  expect(answer?.headers).toMatchObject({ connection: 'close', 'x-sluice-error': code })
  expect(answer?.headers['x-request-id']).toMatch(/^req_[0-9a-f]{32}$/)
  expect(JSON.parse(answer?.text ?? '').error).toMatchObject({ code })
}

describe.concurrent('refuses, with everything that follows:', () => {
  it.each<[string, string]>([
    ['Content-Length before Transfer-Encoding', post([LENGTH, CHUNKED], CHUNKS)],
    ['Transfer-Encoding before Content-Length', post([CHUNKED, LENGTH], CHUNKS)],
    ['two equal lengths', post([LENGTH, LENGTH], BODY)],
    ['two lengths', post([LENGTH, 'content-length: 5'], BODY)],
    ['a list of equal lengths', post([`content-length: ${BODY.length}, ${BODY.length}`], BODY)],
    ['a signed length', post([`content-length: +${BODY.length}`], BODY)],
    ['a negative length', post(['content-length: -1'], BODY)],
    ['a hexadecimal length', post([`content-length: 0x${HEX}`], BODY)],
    ['no length', post(['content-length:'], BODY)],
    ['a length with a space in it', post(['content-length: 6 1'], BODY)],
    ['a length beyond the largest integer', post([`content-length: 1${'0'.repeat(25)}`], BODY)],
    ['a length after a vertical tab', post([`content-length: \x0b${BODY.length}`], BODY)],
    ['a length before a form feed', post([`content-length: ${BODY.length}\x0c`], BODY)],
    ['a space before the colon', post([`content-length : ${BODY.length}`], BODY)],
    ['a tab before the colon', post(['transfer-encoding\t: chunked'], CHUNKS)],
    ['the coding identity', post(['transfer-encoding: identity'], BODY)],
    ['the coding identity beside a length', post(['transfer-encoding: identity', LENGTH], BODY)],
    ['chunked twice, in two headers', post([CHUNKED, CHUNKED], CHUNKS)],
    ['chunked twice, in a list', post(['transfer-encoding: chunked, chunked'], CHUNKS)],
    ['chunked before another coding', post(['transfer-encoding: chunked, gzip'], CHUNKS)],
    ['another coding before chunked', post(['transfer-encoding: gzip, chunked'], CHUNKS)],
    ['a coding like chunked', post(['transfer-encoding: xchunked'], CHUNKS)],
    ['a quoted coding', post(['transfer-encoding: "chunked"'], CHUNKS)],
    ['a coding with a parameter', post(['transfer-encoding: chunked;q=1'], CHUNKS)],
    ['a coding after a comma', post(['transfer-encoding: ,chunked'], CHUNKS)],
    ['a coding before a comma', post(['transfer-encoding: chunked,'], CHUNKS)],
    ['a coding after a vertical tab', post(['transfer-encoding: \x0bchunked'], CHUNKS)],
    ['a coding before a no-break space', post(['transfer-encoding: chunked\xa0'], CHUNKS)],
    ['a coding before a NUL', post(['transfer-encoding: chunked\0'], CHUNKS)],
    ['a coding in a folded line', post(['transfer-encoding:\r\n chunked'], CHUNKS)],
    ['an empty coding', post(['transfer-encoding:', LENGTH], BODY)],
    ['a folded line', post([LENGTH, 'x-a: 1', ' x-b: 2'], BODY)],
    ['a folded first header', `${POST}\r\n host: a\r\n${AUTH}\r\n${LENGTH}\r\n\r\n${BODY}`],
    ['line feeds as line ends', good().replaceAll('\r\n', '\n')],
    ['a line feed in a header', post([LENGTH, `x-a: 1\n${CHUNKED}`], BODY)],
    ['a carriage return in a header', post([LENGTH, `x-a: 1\r${CHUNKED}`], BODY)],
    ['two carriage returns at each line end', good().replaceAll('\r\n', '\r\r\n')],
    ['line feeds after the headers', good().replace('\r\n\r\n', '\n\n')],
    ['a NUL in a value', post([LENGTH, 'x-a: \0'], BODY)],
    ['a NUL in a name', post([LENGTH, 'x\0a: 1'], BODY)],
    ['a header without a colon', post([LENGTH, 'x-a'], BODY)],
    ['a header without a name', post([LENGTH, ': 1'], BODY)],
    ['a line feed in a chunk extension', chunked(`${HEX};a=b\n${BODY}\r\n0\r\n\r\n`)],
    ['a carriage return in a chunk extension', chunked(`${HEX};a\rb\r\n${BODY}\r\n0\r\n\r\n`)],
    ['a quoted line end in a chunk extension', chunked(`${HEX};a="\r\n"\r\n${BODY}\r\n0\r\n\r\n`)],
    ['a chunk extension of 20 KB', chunked(`${HEX};a=${'x'.repeat(20_000)}\r\n${BODY}\r\n0\r\n\r\n`)],
    ['a space before a chunk size', chunked(` ${HEX}\r\n${BODY}\r\n0\r\n\r\n`)],
    ['a space after a chunk size', chunked(`${HEX} \r\n${BODY}\r\n0\r\n\r\n`)],
    ['a chunk size with 0x', chunked(`0x${HEX}\r\n${BODY}\r\n0\r\n\r\n`)],
    ['a negative chunk size', chunked(`-${HEX}\r\n${BODY}\r\n0\r\n\r\n`)],
    ['a signed chunk size', chunked(`+${HEX}\r\n${BODY}\r\n0\r\n\r\n`)],
    [
      'a chunk size that overflows to the right one',
      chunked(`1${HEX.padStart(16, '0')}\r\n${BODY}\r\n0\r\n\r\n`),
    ],
    ['no chunk size', chunked(`\r\n${BODY}\r\n0\r\n\r\n`)],
    ['a line feed after a chunk size', chunked(`${HEX}\n${BODY}\r\n0\r\n\r\n`)],
    ['a chunk without its end', chunked(`${HEX}\r\n${BODY}0\r\n\r\n`)],
    ['a line feed after a chunk', chunked(`${HEX}\r\n${BODY}\n0\r\n\r\n`)],
    ['other bytes after a chunk', chunked(`${HEX}\r\n${BODY}xx0\r\n\r\n`)],
    ['a chunk longer than its size', chunked(`5\r\n${BODY}\r\n0\r\n\r\n`)],
    ['line feeds after the last chunk', chunked(`${HEX}\r\n${BODY}\r\n0\n\n`)],
    ['a length in trailers', chunked(`${HEX}\r\n${BODY}\r\n0\r\ncontent-length: 5\r\n\r\n`)],
    ['a coding in trailers', chunked(`${HEX}\r\n${BODY}\r\n0\r\ntransfer-encoding: chunked\r\n\r\n`)],
    ['an invalid trailer', chunked(`${HEX}\r\n${BODY}\r\n0\r\nx a: 1\r\n\r\n`)],
    ['HTTP/1.0 with chunks', chunked(CHUNKS).replace('HTTP/1.1', 'HTTP/1.0')],
    ['a second Host', post([LENGTH, 'host: other'], BODY)],
    ['no Host', good().replace('host: localhost\r\n', '')],
    ['cleartext HTTP/2', 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'],
    ['version 2.0', withLine(`POST ${PATH} HTTP/2.0`)],
    ['version 1.7', withLine(`POST ${PATH} HTTP/1.7`)],
    ['no version', withLine(`POST ${PATH}`)],
    ['a lower-case version', withLine(`POST ${PATH} http/1.1`)],
    ['a space after the version', withLine(`${POST} `)],
    ['a tab in the first line', withLine(`POST\t${PATH} HTTP/1.1`)],
    ['a space before the first line', ` ${good()}`],
    ['a lower-case method', withLine(`post ${PATH} HTTP/1.1`)],
    ['a mixed-case method', withLine(`Post ${PATH} HTTP/1.1`)],
    ['an unknown method', withLine(`FETCH ${PATH} HTTP/1.1`)],
    ['an absolute target', withLine(`POST http://localhost${PATH} HTTP/1.1`)],
    ['an asterisk', raw('OPTIONS * HTTP/1.1', [])],
    ['CONNECT', raw('CONNECT localhost:80 HTTP/1.1', [AUTH])],
    ['CONNECT to a path', raw('CONNECT /v1/models HTTP/1.1', [AUTH])],
    ['a fragment', withLine(`POST ${PATH}#x HTTP/1.1`)],
    ['a target with a byte beyond ASCII', withLine(`POST ${PATH}?\xff HTTP/1.1`)],
    ['a target with a control character', withLine(`POST ${PATH}?\x01 HTTP/1.1`)],
    ['a TLS hello', '\x16\x03\x01\x00\xf4\x01\x00\x00\xf0\x03\x03\xa1\xb2\xc3'],
    ['a body without a head', `${BODY}\r\n\r\n`],
  ])('%s', (_what, bytes) => expectRefused(bytes, 400, 'invalid_request'))

  it.each([
    'a b',
    'a/b',
    'user@a',
    'a:x',
    'a:1:2',
    '[::1',
    '::1',
    'a\\b',
    'a?b',
    'a#b',
    '\xfc',
    '<a>',
    '"a"',
  ])('the Host %j', (host) => expectRefused(good().replace('localhost', host), 400, 'invalid_request'))

  it.each<[string, string]>([
    ['in one trailer', `x-a: ${'x'.repeat(20_000)}`],
    ['in many', Array.from({ length: 1_500 }, (_, i) => `x-${i}: 12345`).join('\r\n')],
  ])('20 KB of trailers, %s', (_what, trailers) =>
    expectRefused(chunked(`${HEX}\r\n${BODY}\r\n0\r\n${trailers}\r\n\r\n`), 431, 'headers_too_large'),
  )
})

describe('waits for the rest of the body:', () => {
  it.each<[string, string]>([
    ['a chunk of 16 exabytes', chunked(`${'f'.repeat(16)}\r\n{"a":"`)],
    ['a length with one byte too many', post([`content-length: ${BODY.length + SMUGGLED.length + 1}`], BODY)],
  ])('%s', (_what, bytes) => expectRefused(bytes, 408, 'request_timeout'))
})

describe('takes for one request, followed by another:', () => {
  it.each<[string, string]>([
    ['a length', good()],
    ['a length with leading zeros', post([`content-length: 00${BODY.length}`], BODY)],
    ['a length between tabs and spaces', post([`content-length:\t ${BODY.length} \t`], BODY)],
    ['chunks', chunked(CHUNKS)],
    ['an upper-case coding', post(['Transfer-Encoding: CHUNKED'], CHUNKS)],
    ['chunks of a byte each', chunked(`${[...BODY].map((c) => `1\r\n${c}\r\n`).join('')}0\r\n\r\n`)],
    ['a chunk size with leading zeros', chunked(`000${HEX}\r\n${BODY}\r\n000\r\n\r\n`)],
    ['chunk extensions', chunked(`${HEX};a=b;c="d;e"\r\n${BODY}\r\n0;f\r\n\r\n`)],
    [
      'trailers, which are dropped',
      chunked(`${HEX}\r\n${BODY}\r\n0\r\nauthorization: Bearer other\r\nhost: other\r\nx-a: 1\r\n\r\n`),
    ],
    ['empty lines before the request', `\r\n\r\n${good()}`],
    ['a name like Transfer-Encoding', post(['transfer_encoding: chunked', LENGTH], BODY)],
    ['TE', post([LENGTH, 'te: trailers, deflate;q=0.5', 'connection: te'], BODY)],
    ['a Connection that names the length', post([LENGTH, 'connection: content-length'], BODY)],
    ['an expectation', post([LENGTH, 'expect: 200-ok'], BODY)],
    ['an IPv6 host with a port', good().replace('localhost', '[::1]:80')],
    ['an empty host', good().replace('localhost', '')],
  ])('%s', async (_what, bytes) => {
    const before = served().length
    const end = raw('GET /end HTTP/1.1', ['connection: close'])
    const { closed } = await connection(world.gateway.base, bytes + SMUGGLED + end)
    expect(answersIn(await closed).map(({ status }) => status)).toEqual([200, 200, 404])
    expect(served().length).toBe(before + 2)
  })

  it('but not after an upgrade that is ignored', async () => {
    const before = served().length
    const headers = [
      LENGTH,
      'connection: upgrade, http2-settings',
      'upgrade: h2c',
      'http2-settings: AAMAAABk',
    ]
    const { closed } = await connection(world.gateway.base, post(headers, BODY) + SMUGGLED)
    const answers = answersIn(await closed)
    expect(answers.map(({ status }) => status)).toEqual([200])
    expect(answers[0]?.headers.connection).toBe('close')
    expect(served().length).toBe(before + 1)
  })

  it('a body that looks like a request', async () => {
    const before = world.upstream.requests.length
    const inner = good()
    const bytes = raw('POST /nowhere HTTP/1.1', [`content-length: ${inner.length}`], inner)
    const end = raw('GET /end HTTP/1.1', ['connection: close'])
    const { closed } = await connection(world.gateway.base, bytes + end)
    expect(answersIn(await closed).map(({ status }) => status)).toEqual([404, 404])
    expect(world.upstream.requests.length).toBe(before)
  })
})

describe('sends upstream one clean request for:', () => {
  it.each<[string, string]>([
    ['a plain request', good()],
    [
      'chunks with extensions and trailers',
      chunked(`${HEX};x=${KEY}\r\n${BODY}\r\n0\r\nx-secret: ${KEY}\r\n\r\n`),
    ],
    [
      'headers of all kinds',
      good(BODY, [
        'x-forwarded-for: 192.0.2.1',
        'x-forwarded-host: evil',
        'forwarded: for=192.0.2.1',
        'cookie: a=b',
        'connection: x-hop',
        'x-hop: 1',
        'keep-alive: timeout=5',
        'te: trailers',
        'trailer: x-a',
        'expect: miracles',
        'proxy-authorization: Basic YTpi',
        'content-encoding: identity',
        `x-api-key: ${KEY}`,
        'x-http-method-override: DELETE',
        'x-original-url: /admin',
        'user-agent: client/1',
      ]),
    ],
    ['HTTP/1.0', good().replace('HTTP/1.1', 'HTTP/1.0')],
    ['a query', withLine(`POST ${PATH}?key=${KEY} HTTP/1.1`)],
  ])('%s', async (_what, bytes) => {
    const before = world.upstream.requests.length
    const { socket } = await connection(world.gateway.base, bytes)
    const sent = await until(() => world.upstream.requests[before], 'the request upstream')
    socket.destroy()
    expect(sent.firstLine).toBe('POST /v1/chat/completions HTTP/1.1')
    expect(sent.body).toBe(BODY)
    const names = sent.headers.map((line) => line.slice(0, line.indexOf(':')).toLowerCase())
    expect(new Set(names).size).toBe(names.length)
    expect(names.toSorted()).toEqual([
      'accept',
      'accept-encoding',
      'connection',
      'content-length',
      'content-type',
      'host',
      'user-agent',
    ])
    expect(sent.headers).toContain(LENGTH)
    expect(sent.headers.join()).not.toMatch(/client\/1|sk-http-test|evil/)
    expect(world.upstream.strayBytes()).toBe(0)
  })
})
