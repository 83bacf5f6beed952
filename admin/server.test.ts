import { request } from 'node:http'
import { Gauge, Registry } from 'prom-client'
import { describe, expect, test, vi } from 'vitest'
import { listen } from '../proxy/outbound/testing.ts'
import { AdminError, type AdminOptions, createAdminServer } from './server.ts'

const TOKEN = 'a-token-of-the-operator'

interface Reply {
  status: number | undefined
  type: string | undefined
  text: string
}

/** An admin port, and a way to ask it. */
async function adminOf(options: Partial<AdminOptions> = {}) {
  const metrics = new Registry()
  new Gauge({ name: 'sluice_table_generation', help: 'x', registers: [metrics] }).set(7)
  const server = createAdminServer({
    metrics,
    token: TOKEN,
    notReady: () => undefined,
    guarded: { '/table': async () => ({ routes: ['a'] }) },
    ...options,
  })
  const { origin } = await listen(server, 'http')
  return {
    server,
    ask: (path: string, headers: Record<string, string | string[]> = {}, method = 'GET') =>
      new Promise<Reply>((resolve, reject) => {
        const asked = request(`${origin}${path}`, { headers, method, agent: false }, async (res) => {
          const text = Buffer.concat(await res.toArray()).toString()
          resolve({ status: res.statusCode, type: res.headers['content-type'], text })
        })
        asked.on('error', reject).end()
      }),
  }
}

describe('open to everybody', () => {
  test('a running process is healthy, even if it is not ready', async () => {
    const { ask } = await adminOf({ notReady: () => 'draining' })
    expect(await ask('/healthz')).toMatchObject({ status: 200, text: 'ok\n' })
    expect(await ask('/readyz')).toMatchObject({ status: 503, text: 'draining\n' })
  })

  test('readiness follows the process', async () => {
    let reason: string | undefined = 'no table yet'
    const { ask } = await adminOf({ notReady: () => reason })
    expect(await ask('/readyz')).toMatchObject({ status: 503, text: 'no table yet\n' })
    reason = undefined
    expect(await ask('/readyz?verbose')).toMatchObject({ status: 200, text: 'ok\n' })
  })

  test('metrics', async () => {
    const { ask } = await adminOf()
    const { status, type, text } = await ask('/metrics')
    expect([status, type]).toEqual([200, expect.stringMatching(/^text\/plain; version=0\.0\.4/)])
    expect(text).toContain('\nsluice_table_generation 7\n')
  })

  test('HEAD is answered without a body, other methods are refused', async () => {
    const { ask } = await adminOf()
    expect(await ask('/healthz', {}, 'HEAD')).toMatchObject({ status: 200, text: '' })
    for (const method of ['POST', 'PUT', 'DELETE', 'OPTIONS'])
      expect(await ask('/healthz', {}, method)).toMatchObject({ status: 405 })
  })
})

describe('guarded by a token', () => {
  test('a client with the token may read', async () => {
    const { ask } = await adminOf()
    const reply = await ask('/table', { 'X-Sluice-Admin-Token': TOKEN })
    expect([reply.status, reply.type, JSON.parse(reply.text)]).toEqual([
      200,
      'application/json',
      { routes: ['a'] },
    ])
    expect(await ask('/table?x=1', { 'x-sluice-admin-token': TOKEN })).toMatchObject({ status: 200 })
  })

  const refused: [string, Record<string, string | string[]>][] = [
    ['nobody, loopback or not', {}],
    ['an empty one', { 'x-sluice-admin-token': '' }],
    ['another one', { 'x-sluice-admin-token': 'a-token-of-the-operatox' }],
    ['the beginning of it', { 'x-sluice-admin-token': TOKEN.slice(0, -1) }],
    ['it twice', { 'x-sluice-admin-token': [TOKEN, TOKEN] }],
    ['it elsewhere', { authorization: `Bearer ${TOKEN}` }],
  ]

  test.each(refused)('%s: 403, and the page is not called', async (_, headers) => {
    const table = vi.fn(async () => ({}))
    const { ask } = await adminOf({ guarded: { '/table': table } })
    const { status, text } = await ask('/table', headers)
    expect([status, text.includes(TOKEN)]).toEqual([403, false])
    expect(table).not.toHaveBeenCalled()
  })

  test('a token in the query does not count', async () => {
    const { ask } = await adminOf()
    expect(await ask(`/table?x-sluice-admin-token=${TOKEN}`)).toMatchObject({ status: 403 })
  })
})

describe('guarded without a token', () => {
  test('a loopback client may read', async () => {
    const { ask } = await adminOf({ token: undefined })
    expect(await ask('/table')).toMatchObject({ status: 200 })
  })

  test.each([
    ['localhost', 200],
    ['localhost:8081', 200],
    ['127.0.0.1:8081', 200],
    ['127.8.9.1', 200],
    ['[::1]:8081', 200],
    ['LOCALHOST', 200],
    ['evil.example', 403],
    ['evil.example:8081', 403],
    ['localhost.evil.example', 403],
    ['127.0.0.1.evil.example', 403],
    ['evil.example#@localhost', 403],
    ['192.0.2.7:8081', 403],
    ['[::2]', 403],
    ['a b', 403],
    ['user@localhost', 403],
    ['user:password@localhost', 403],
    ['localhost:8081@evil.example', 403],
    ['localhost/', 403],
    ['localhost?x', 403],
    ['localhost#x', 403],
    ['localhost\\x', 403],
    ['%6c%6fcalhost', 403],
    ['localhost:', 403],
    ['localhost:80:81', 403],
    ['::1', 403],
    ['[::1', 403],
    ['[127.0.0.1]', 403],
    ['127.1', 403],
    ['2130706433', 403],
  ])('Host %s: %i, because another name may be a page in a browser', async (host, expected) => {
    const { ask } = await adminOf({ token: undefined })
    expect(await ask('/table', { host })).toMatchObject({ status: expected })
    expect(await ask('/healthz', { host })).toMatchObject({ status: 200 })
  })

  test.each(['192.0.2.7', '::ffff:192.0.2.7', '2001:db8::1', '10.0.0.1', undefined])(
    '%s does not, whatever it claims',
    async (address) => {
      const { ask, server } = await adminOf({ token: undefined })
      server.prependListener('connection', (socket) =>
        Object.defineProperty(socket, 'remoteAddress', { get: () => address }),
      )
      const claims = { 'x-forwarded-for': '127.0.0.1', 'x-sluice-admin-token': '' }
      expect(await ask('/table', claims)).toMatchObject({ status: 403 })
      expect(await ask('/healthz')).toMatchObject({ status: 200 })
    },
  )

  test.each(['127.0.0.1', '127.9.9.9', '::1', '::ffff:127.0.0.1'])('%s is loopback', async (address) => {
    const { ask, server } = await adminOf({ token: undefined })
    server.prependListener('connection', (socket) =>
      Object.defineProperty(socket, 'remoteAddress', { get: () => address }),
    )
    expect(await ask('/table')).toMatchObject({ status: 200 })
  })
})

test.each(['/', '/nothing', '/table/', '/Table', '/__proto__', '/constructor', '/toString'])(
  'there is nothing at %s',
  async (path) => {
    const { ask } = await adminOf()
    const headers = { 'x-sluice-admin-token': TOKEN }
    expect(await ask(path, headers)).toMatchObject({ status: 404 })
  },
)

test('a failing page is answered 500 without a reason', async () => {
  const fails = async () => {
    throw new Error('secret reason')
  }
  const { ask } = await adminOf({ guarded: { '/table': fails } })
  expect(await ask('/table', { 'x-sluice-admin-token': TOKEN })).toMatchObject({
    status: 500,
    text: 'internal error\n',
  })
})

test('a page gets the query, and its AdminError is answered with the reason', async () => {
  const { ask } = await adminOf({
    guarded: {
      '/explain': async (query) => {
        if (query.get('key') === null) throw new AdminError(400, 'name a key')
        return { key: query.get('key') }
      },
    },
  })
  const token = { 'x-sluice-admin-token': TOKEN }
  expect(await ask('/explain?key=a%2Fb', token)).toMatchObject({
    status: 200,
    text: '{\n  "key": "a/b"\n}\n',
  })
  expect(await ask('/explain', token)).toMatchObject({ status: 400, text: '{\n  "error": "name a key"\n}\n' })
})
