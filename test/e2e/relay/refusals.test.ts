/** Every error of the relay itself, with the code that distinguishes it from an upstream's answer. */
import { gzipSync } from 'node:zlib'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { mintKey } from '../../../contract/key-format.ts'
import { httpServer, tcpServer } from '../../../proxy/outbound/testing.ts'
import { type RunningGateway, until } from '../../harness/gateway.ts'
import { readAll } from '../../harness/http.ts'
import { startNameServer } from '../../harness/name-server.ts'
import { freePort } from '../../harness/program.ts'
import { apiKey } from '../../harness/resources.ts'
import { envelope, HEADERS, openRelay, rawUpstream, relay, relayOfTest, startRelay } from './setup.ts'
import { stoppedServer } from './stopped-server.ts'

const OWN_KEY = 'chosen-key-of-this-gateway'

let gateway: RunningGateway
beforeAll(async () => {
  gateway = await startRelay(
    {
      SLUICE_ENDPOINT_BODY_BYTES: 'relay=20000',
      SLUICE_MAX_INFLATED_BYTES: '20000',
      SLUICE_RELAY_CONNECT_TIMEOUT: '300ms',
    },
    { 'keys.yaml': apiKey('own', OWN_KEY) + apiKey('off', `${OWN_KEY}-off`, { disabled: true }) },
  )
})
afterAll(() => gateway.stop())

describe('the caller’s fault', () => {
  const good = envelope('http://127.0.0.1:1/')
  test.each<[string, string, number, string, Record<string, string>?]>([
    ['invalid JSON', 'x', 400, 'invalid_request'],
    ['an empty body', '', 400, 'invalid_request'],
    ['not an object', '[]', 400, 'invalid_request'],
    ['cut off', good.slice(0, -1), 400, 'invalid_request'],
    ['text after the JSON', `${good}{}`, 400, 'invalid_request'],
    ['no url', '{"format":"x","body":{"model":"m"}}', 400, 'invalid_request'],
    ['no format', '{"url":"http://127.0.0.1:1/","body":{"model":"m"}}', 400, 'invalid_request'],
    ['a format that is not a string', good.replace('"openai"', '1'), 400, 'invalid_request'],
    ['no body', '{"url":"http://127.0.0.1:1/","format":"x"}', 400, 'invalid_request'],
    [
      'a body that is a string',
      envelope('http://127.0.0.1:1/', '"{\\"model\\":\\"m\\"}"'),
      400,
      'invalid_request',
    ],
    ['a body that is a list', envelope('http://127.0.0.1:1/', '[{"model":"m"}]'), 400, 'invalid_request'],
    ['no model', envelope('http://127.0.0.1:1/', '{}'), 400, 'invalid_request'],
    ['a model that is not a string', envelope('http://127.0.0.1:1/', '{"model":1}'), 400, 'invalid_request'],
    ['an invalid URL', envelope('nowhere'), 400, 'invalid_request'],
    ['a file URL', envelope('file:///etc/passwd'), 400, 'invalid_request'],
    ['an internal address', envelope('http://10.0.0.1/'), 400, 'address_refused'],
    ['an unknown name', envelope('http://unknown.invalid/'), 400, 'address_refused'],
    [
      'too large',
      envelope('http://127.0.0.1:1/', `{"model":"${'m'.repeat(20_000)}"}`),
      413,
      'request_too_large',
    ],
    ['a form', good, 415, 'unsupported_media_type', { 'content-type': 'application/x-www-form-urlencoded' }],
    ['another encoding', good, 415, 'unsupported_media_type', { 'content-encoding': 'br' }],
    ['no key', good, 401, 'unauthorized', { authorization: '' }],
    ['a key of another scheme', good, 401, 'unauthorized', { authorization: 'Basic azE6djE=' }],
    ['two keys', good, 401, 'unauthorized', { authorization: 'Bearer a, Bearer b' }],
    ['a key in another header', good, 401, 'unauthorized', { authorization: '', 'x-api-key': 'k' }],
  ])('%s', async (_name, body, status, code, headers = {}) => {
    const answer = await relay(gateway, body, { headers: { ...HEADERS, ...headers } })
    expect([answer.status, answer.code]).toEqual([status, code])
    expect(answer.headers['content-type']).toBe('application/json')
    expect(answer.headers['x-request-id']).toMatch(/^req_/)
    expect(answer.message).not.toContain('127.0.0.1')
  })

  test('repeated members: the checked value is the one that is sent', async () => {
    const [first, second] = [await rawUpstream(), await rawUpstream()]
    const texts = [
      `{"url":"${first.origin}","url":"${second.origin}","format":"x","body":{"model":"m"}}`,
      `{"url":"${second.origin}","format":"x","body":[],"body":{"model":"m"}}`,
      `{"url":"${second.origin}","format":"x","body":{"model":"m"},"body":[]}`,
    ]
    const statuses = []
    for (const text of texts) statuses.push((await relay(gateway, text)).status)
    expect(statuses.every((status) => status === 400 || status === 200)).toBe(true)
    expect(first.accepted()).toBe(0)
    const sent = second.requests.map(({ body }) => body.toString())
    expect(sent).toEqual(sent.map(() => '{"model":"m"}'))
    expect(sent).toHaveLength(statuses.filter((status) => status === 200).length)
  })

  test('a body that is too large when inflated', async () => {
    const body = gzipSync(envelope('http://127.0.0.1:1/', `{"model":"${'m'.repeat(20_000)}"}`))
    const headers = { ...HEADERS, 'content-encoding': 'gzip' }
    expect(await relay(gateway, body, { headers })).toMatchObject({ status: 413, code: 'request_too_large' })
  })

  test.each([
    ['chosen', OWN_KEY],
    ['disabled', `${OWN_KEY}-off`],
    ['minted by any gateway', mintKey()],
  ])('an API key of the gateway as the upstream key: %s', async (_name, key) => {
    const upstream = await rawUpstream()
    const headers = { ...HEADERS, authorization: `Bearer ${key}` }
    const answer = await relay(gateway, envelope(upstream.origin), { headers })
    expect(answer).toMatchObject({ status: 400, code: 'invalid_request' })
    expect(answer.message).not.toContain(key)
    expect(upstream.accepted()).toBe(0)
  })
})

describe('502', () => {
  test('if no server listens', async () => {
    const answer = await relay(gateway, envelope(`http://127.0.0.1:${await freePort()}/`))
    expect(answer).toMatchObject({ status: 502, code: 'upstream_error' })
    expect(answer.message).not.toMatch(/127\.0\.0\.1|ECONN/)
  })

  test('if the connection times out', async () => {
    const origin = await stoppedServer()
    expect(await relay(gateway, envelope(origin))).toMatchObject({ status: 502, code: 'upstream_error' })
  })

  test('if the server does not speak HTTP', async () => {
    const upstream = await tcpServer((socket) => void socket.end('220 mail ready\r\n'))
    expect(await relay(gateway, envelope(upstream.origin))).toMatchObject({
      status: 502,
      code: 'upstream_error',
    })
  })
})

describe('504', () => {
  test('instead of a late answer; the upstream connection is closed', async () => {
    const short = await relayOfTest({ SLUICE_RELAY_TIMEOUT: '500ms' })
    const upstream = await tcpServer(() => undefined)
    const answer = await relay(short, envelope(upstream.origin))
    expect(answer).toMatchObject({ status: 504, code: 'upstream_timeout' })
    await until(() => upstream.sockets.size === 0, 'the upstream connection to be closed')
  })

  test('if the connection is not made in time', async () => {
    const short = await relayOfTest({ SLUICE_RELAY_TIMEOUT: '500ms' })
    const answer = await relay(short, envelope(await stoppedServer()))
    expect(answer).toMatchObject({ status: 504, code: 'upstream_timeout' })
  })

  test('not after the answer has begun: the client is cut off', async () => {
    const short = await relayOfTest({ SLUICE_RELAY_TIMEOUT: '1s' })
    const upstream = await httpServer((_req, res) => void res.write('data: 1\n\n'))
    const res = await openRelay(short, envelope(upstream.origin))
    expect(res.statusCode).toBe(200)
    await expect(readAll(res)).rejects.toMatchObject({ code: 'ECONNRESET' })
    await until(() => upstream.sockets.size === 0, 'the upstream connection to be closed')
  })
})

describe('the mode', () => {
  test('off: refuses all calls, even allowed ones', async () => {
    const off = await relayOfTest({ SLUICE_RELAY_MODE: 'off' })
    const upstream = await rawUpstream()
    for (const body of [envelope(upstream.origin), 'x'])
      expect(await relay(off, body)).toMatchObject({ status: 403, code: 'relay_disabled' })
    expect(await relay(off, '', { headers: {} })).toMatchObject({ status: 403, code: 'relay_disabled' })
    expect(upstream.accepted()).toBe(0)
  })

  test('allowlist: calls only listed hosts', async () => {
    const upstream = await rawUpstream()
    const other = await rawUpstream()
    const { host } = new URL(upstream.origin)
    const names = await startNameServer()
    onTestFinished(() => names.close())
    names.set('example.com', ['8.8.8.8'])
    const listed = await relayOfTest({
      SLUICE_RELAY_MODE: 'allowlist',
      SLUICE_RELAY_ALLOW: host,
      SLUICE_RELAY_RESOLVERS: names.address,
    })
    expect((await relay(listed, envelope(upstream.origin))).status).toBe(200)
    // Public addresses are refused, too; nothing is sent to them.
    for (const url of [other.origin, 'http://8.8.8.8:9/', 'https://example.com/'])
      expect(await relay(listed, envelope(url))).toMatchObject({ status: 400, code: 'address_refused' })
    expect(other.accepted()).toBe(0)
  })

  test('public: calls only the listed ports, besides allowed hosts', async () => {
    const upstream = await rawUpstream()
    const { host } = new URL(upstream.origin)
    const ports = await relayOfTest({ SLUICE_RELAY_PORTS: '443', SLUICE_RELAY_ALLOW: host })
    expect((await relay(ports, envelope(upstream.origin))).status).toBe(200)
    for (const url of ['http://8.8.8.8/', 'https://8.8.8.8:444/', 'http://8.8.8.8:22/'])
      expect(await relay(ports, envelope(url))).toMatchObject({ status: 400, code: 'address_refused' })
  })

  test('the deny list takes precedence over the allow list', async () => {
    const denying = await relayOfTest({ SLUICE_RELAY_DENY: '127.0.0.0/8' })
    const upstream = await rawUpstream()
    for (const url of [upstream.origin, upstream.origin.replace('127.0.0.1', 'localhost')])
      expect(await relay(denying, envelope(url))).toMatchObject({ status: 400, code: 'address_refused' })
    expect(upstream.accepted()).toBe(0)
  })
})

describe('limits', () => {
  test('of requests per minute and client: 429 with Retry-After', async () => {
    const limited = await relayOfTest({ SLUICE_RELAY_REQUESTS_PER_MINUTE: '2' })
    const upstream = await rawUpstream()
    const answers = []
    for (let i = 0; i < 3; i++) {
      // Ignored, because this address is not a trusted proxy.
      const headers = { ...HEADERS, 'x-forwarded-for': `192.0.2.${i}`, forwarded: `for=192.0.2.${i}` }
      answers.push(await relay(limited, envelope(upstream.origin), { headers }))
    }
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 429])
    const [, , last] = answers
    expect(last?.code).toBe('rate_limit_exceeded')
    const seconds = Number(last?.headers['retry-after'])
    expect(seconds).toBeGreaterThan(0)
    expect(seconds).toBeLessThanOrEqual(30)
    expect(upstream.accepted()).toBe(2)
    // Another client has its own limit.
    const other = await relay(limited, envelope(upstream.origin), { localAddress: '127.0.0.3' })
    expect(other.status).toBe(200)
  })

  test('of concurrent calls, per client and in total', async () => {
    const limited = await relayOfTest({
      SLUICE_RELAY_MAX_IN_FLIGHT: '2',
      SLUICE_RELAY_MAX_IN_FLIGHT_PER_CLIENT: '1',
    })
    const answers: (() => void)[] = []
    const upstream = await httpServer((_req, res) => void answers.push(() => void res.end('ok')))
    const ask = (localAddress: string) => relay(limited, envelope(upstream.origin), { localAddress })
    const first = ask('127.0.0.1')
    await until(() => answers.length === 1, 'the first call')
    const again = await ask('127.0.0.1')
    expect(again).toMatchObject({ status: 429, code: 'rate_limit_exceeded' })
    expect(Number(again.headers['retry-after'])).toBeGreaterThan(0)
    const second = ask('127.0.0.2')
    await until(() => answers.length === 2, 'the second call')
    const third = await ask('127.0.0.3')
    expect(third).toMatchObject({ status: 503, code: 'overloaded' })
    expect(Number(third.headers['retry-after'])).toBeGreaterThan(0)
    for (const answer of answers) answer()
    expect([(await first).status, (await second).status]).toEqual([200, 200])
    const fourth = ask('127.0.0.1')
    await until(() => answers.length === 3, 'a free slot')
    answers[2]?.()
    expect((await fourth).status).toBe(200)
  })
})
