/** Every answer of the relay that is its own, with the code by which it is told from one of the upstream. */
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
    ['no JSON', 'x', 400, 'invalid_request'],
    ['nothing', '', 400, 'invalid_request'],
    ['no object', '[]', 400, 'invalid_request'],
    ['cut off', good.slice(0, -1), 400, 'invalid_request'],
    ['something behind it', `${good}{}`, 400, 'invalid_request'],
    ['no url', '{"format":"x","body":{"model":"m"}}', 400, 'invalid_request'],
    ['no format', '{"url":"http://127.0.0.1:1/","body":{"model":"m"}}', 400, 'invalid_request'],
    ['a format that is no text', good.replace('"openai"', '1'), 400, 'invalid_request'],
    ['no body', '{"url":"http://127.0.0.1:1/","format":"x"}', 400, 'invalid_request'],
    [
      'a body that is text',
      envelope('http://127.0.0.1:1/', '"{\\"model\\":\\"m\\"}"'),
      400,
      'invalid_request',
    ],
    ['a body that is a list', envelope('http://127.0.0.1:1/', '[{"model":"m"}]'), 400, 'invalid_request'],
    ['no model', envelope('http://127.0.0.1:1/', '{}'), 400, 'invalid_request'],
    ['a model that is no text', envelope('http://127.0.0.1:1/', '{"model":1}'), 400, 'invalid_request'],
    ['no URL', envelope('nowhere'), 400, 'invalid_request'],
    ['a file', envelope('file:///etc/passwd'), 400, 'invalid_request'],
    ['an inner address', envelope('http://10.0.0.1/'), 400, 'address_refused'],
    ['a name that nobody has', envelope('http://nobody.invalid/'), 400, 'address_refused'],
    [
      'too much',
      envelope('http://127.0.0.1:1/', `{"model":"${'m'.repeat(20_000)}"}`),
      413,
      'request_too_large',
    ],
    ['a form', good, 415, 'unsupported_media_type', { 'content-type': 'application/x-www-form-urlencoded' }],
    ['another encoding', good, 415, 'unsupported_media_type', { 'content-encoding': 'br' }],
    ['no key', good, 401, 'unauthorized', { authorization: '' }],
    ['a key of another scheme', good, 401, 'unauthorized', { authorization: 'Basic azE6djE=' }],
    ['two keys', good, 401, 'unauthorized', { authorization: 'Bearer a, Bearer b' }],
    ['a key elsewhere', good, 401, 'unauthorized', { authorization: '', 'x-api-key': 'k' }],
  ])('%s', async (_name, body, status, code, headers = {}) => {
    const answer = await relay(gateway, body, { headers: { ...HEADERS, ...headers } })
    expect([answer.status, answer.code]).toEqual([status, code])
    expect(answer.headers['content-type']).toBe('application/json')
    expect(answer.headers['x-request-id']).toMatch(/^req_/)
    expect(answer.message).not.toContain('127.0.0.1')
  })

  test('two members of one name: what is checked is what is sent', async () => {
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

  test('more than it may be when inflated', async () => {
    const body = gzipSync(envelope('http://127.0.0.1:1/', `{"model":"${'m'.repeat(20_000)}"}`))
    const headers = { ...HEADERS, 'content-encoding': 'gzip' }
    expect(await relay(gateway, body, { headers })).toMatchObject({ status: 413, code: 'request_too_large' })
  })

  test.each([
    ['chosen', OWN_KEY],
    ['disabled', `${OWN_KEY}-off`],
    ['minted here or elsewhere', mintKey()],
  ])('a key of the gateway as the upstream’s: %s', async (_name, key) => {
    const upstream = await rawUpstream()
    const headers = { ...HEADERS, authorization: `Bearer ${key}` }
    const answer = await relay(gateway, envelope(upstream.origin), { headers })
    expect(answer).toMatchObject({ status: 400, code: 'invalid_request' })
    expect(answer.message).not.toContain(key)
    expect(upstream.accepted()).toBe(0)
  })
})

describe('502', () => {
  test('where nobody listens', async () => {
    const answer = await relay(gateway, envelope(`http://127.0.0.1:${await freePort()}/`))
    expect(answer).toMatchObject({ status: 502, code: 'upstream_error' })
    expect(answer.message).not.toMatch(/127\.0\.0\.1|ECONN/)
  })

  test('where a connection is not made in time', async () => {
    const origin = await stoppedServer()
    expect(await relay(gateway, envelope(origin))).toMatchObject({ status: 502, code: 'upstream_error' })
  })

  test('where something else answers', async () => {
    const upstream = await tcpServer((socket) => void socket.end('220 mail ready\r\n'))
    expect(await relay(gateway, envelope(upstream.origin))).toMatchObject({
      status: 502,
      code: 'upstream_error',
    })
  })
})

describe('504', () => {
  test('in place of a late answer; the upstream is let go', async () => {
    const short = await relayOfTest({ SLUICE_RELAY_TIMEOUT: '500ms' })
    const upstream = await tcpServer(() => undefined)
    const answer = await relay(short, envelope(upstream.origin))
    expect(answer).toMatchObject({ status: 504, code: 'upstream_timeout' })
    await until(() => upstream.sockets.size === 0, 'the upstream to be let go')
  })

  test('also where no connection comes about', async () => {
    const short = await relayOfTest({ SLUICE_RELAY_TIMEOUT: '500ms' })
    const answer = await relay(short, envelope(await stoppedServer()))
    expect(answer).toMatchObject({ status: 504, code: 'upstream_timeout' })
  })

  test('is no more to be had once the answer has begun: the client is cut off', async () => {
    const short = await relayOfTest({ SLUICE_RELAY_TIMEOUT: '1s' })
    const upstream = await httpServer((_req, res) => void res.write('data: 1\n\n'))
    const res = await openRelay(short, envelope(upstream.origin))
    expect(res.statusCode).toBe(200)
    await expect(readAll(res)).rejects.toMatchObject({ code: 'ECONNRESET' })
    await until(() => upstream.sockets.size === 0, 'the upstream to be let go')
  })
})

describe('the mode', () => {
  test('off: nobody gets anything, whatever is allowed', async () => {
    const off = await relayOfTest({ SLUICE_RELAY_MODE: 'off' })
    const upstream = await rawUpstream()
    for (const body of [envelope(upstream.origin), 'x'])
      expect(await relay(off, body)).toMatchObject({ status: 403, code: 'relay_disabled' })
    expect(await relay(off, '', { headers: {} })).toMatchObject({ status: 403, code: 'relay_disabled' })
    expect(upstream.accepted()).toBe(0)
  })

  test('allowlist: nothing but what is named', async () => {
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
    // A public address, too: nothing is sent to it.
    for (const url of [other.origin, 'http://8.8.8.8:9/', 'https://example.com/'])
      expect(await relay(listed, envelope(url))).toMatchObject({ status: 400, code: 'address_refused' })
    expect(other.accepted()).toBe(0)
  })

  test('public: only the ports that are named, beside what is allowed', async () => {
    const upstream = await rawUpstream()
    const { host } = new URL(upstream.origin)
    const ports = await relayOfTest({ SLUICE_RELAY_PORTS: '443', SLUICE_RELAY_ALLOW: host })
    expect((await relay(ports, envelope(upstream.origin))).status).toBe(200)
    for (const url of ['http://8.8.8.8/', 'https://8.8.8.8:444/', 'http://8.8.8.8:22/'])
      expect(await relay(ports, envelope(url))).toMatchObject({ status: 400, code: 'address_refused' })
  })

  test('what is denied is not called, even where it is allowed', async () => {
    const denying = await relayOfTest({ SLUICE_RELAY_DENY: '127.0.0.0/8' })
    const upstream = await rawUpstream()
    for (const url of [upstream.origin, upstream.origin.replace('127.0.0.1', 'localhost')])
      expect(await relay(denying, envelope(url))).toMatchObject({ status: 400, code: 'address_refused' })
    expect(upstream.accepted()).toBe(0)
  })
})

describe('how much', () => {
  test('of one client: 429, and when to come again', async () => {
    const limited = await relayOfTest({ SLUICE_RELAY_REQUESTS_PER_MINUTE: '2' })
    const upstream = await rawUpstream()
    const answers = []
    for (let i = 0; i < 3; i++) {
      // Nobody said that this address may speak for others.
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
    // Another client has a minute of its own.
    const other = await relay(limited, envelope(upstream.origin), { localAddress: '127.0.0.3' })
    expect(other.status).toBe(200)
  })

  test('at a time, of a client and of all', async () => {
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
    await until(() => answers.length === 3, 'room again')
    answers[2]?.()
    expect((await fourth).status).toBe(200)
  })
})
