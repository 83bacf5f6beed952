/** Connections that need certificates, private authorities or HTTP proxies. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer as createHttpsServer, type ServerOptions } from 'node:https'
import { createServer as createTcpServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createServer as createTlsServer, type TLSSocket } from 'node:tls'
import { afterAll, describe, expect, onTestFinished, test, vi } from 'vitest'
import type { ChannelRecord } from '../../contract/table/records.ts'
import { startProxy, type TestProxy } from '../../test/harness/http-proxy.ts'
import { type Authority, createAuthority, type Pair } from '../../test/harness/pki.ts'
import { Dispatchers } from './dispatchers.ts'
import { send } from './exchange.ts'
import { type Outbound, readOutbound } from './settings.ts'
import {
  faultIn,
  httpServer,
  listen,
  never,
  nextTurn,
  PATIENT,
  record,
  type TestServer,
  testChannel,
  testRequest,
} from './testing.ts'

const authority = createAuthority()
const other = createAuthority()
const server = authority.issue('upstream.test', '127.0.0.1')
afterAll(() => {
  authority.remove()
  other.remove()
})

const NOTHING = {
  SLUICE_HTTP_PROXY: undefined,
  SLUICE_HTTPS_PROXY: undefined,
  SLUICE_NO_PROXY: [],
  SLUICE_UPSTREAM_CA_FILE: undefined,
}
type Settings = Parameters<typeof readOutbound>[0]

function open(settings: Partial<Settings> = {}): Dispatchers {
  const dispatchers = new Dispatchers(readOutbound({ ...NOTHING, ...settings }))
  onTestFinished(() => dispatchers.close())
  return dispatchers
}

async function proxyOf(tls?: Pair): Promise<TestProxy> {
  const proxy = await startProxy(tls)
  onTestFinished(() => proxy.close())
  return proxy
}

function fileOf(text: string): string {
  const dir = mkdtempSync(join(tmpdir(), 'sluice-ca-'))
  onTestFinished(() => rmSync(dir, { recursive: true }))
  const path = join(dir, 'ca.pem')
  writeFileSync(path, text)
  return path
}

/** Greets the name in the client's certificate. */
const secureServer = (options: ServerOptions = {}) =>
  listen(
    createHttpsServer({ ...server, ...options }, (req, res) => {
      const { subject } = (req.socket as TLSSocket).getPeerCertificate()
      res.end(`hello ${subject?.CN ?? 'anonymous'}`)
    }),
    'https',
  )

/** The server under a name that only the test's proxy resolves. */
const named = ({ origin }: TestServer) => origin.replace('127.0.0.1', 'upstream.test')

async function ask(dispatchers: Dispatchers, origin: string, changes: Partial<ChannelRecord> = {}) {
  const channel = testChannel({ baseURL: `${origin}/v1`, ...changes })
  const dispatcher = dispatchers.get('default/a', channel)
  const response = await send(dispatcher, testRequest(origin), PATIENT, never)
  return (await response.readAll(1_000)).toString()
}

describe('client certificates', () => {
  const demanding = () => secureServer({ ca: authority.ca, requestCert: true, rejectUnauthorized: true })
  const tls = (clientCertificate?: Pair) => ({
    tls: { ca: authority.ca, ...(clientCertificate && { clientCertificate }) },
  })

  test('the upstream gets the certificate of the channel', async () => {
    const { origin } = await demanding()
    expect(await ask(open(), origin, tls(authority.issue('client.test')))).toBe('hello client.test')
  })

  test.each([
    ['none', undefined],
    ['one of another authority', other.issue('client.test')],
  ])('an upstream that gets %s refuses, which is a TLS failure', async (_, pair) => {
    const { origin } = await demanding()
    expect(['tls', 'reset']).toContain(await faultIn(ask(open(), origin, tls(pair))))
  })

  test('a new certificate opens new connections and closes the old ones', async () => {
    const upstream = await demanding()
    const dispatchers = open()
    const [first, second] = [authority.issue('first.test'), authority.issue('second.test')]
    expect(await ask(dispatchers, upstream.origin, tls(first))).toBe('hello first.test')
    await nextTurn()
    expect(await ask(dispatchers, upstream.origin, tls({ ...first }))).toBe('hello first.test')
    expect(upstream.accepted()).toBe(1)
    expect(await ask(dispatchers, upstream.origin, tls(second))).toBe('hello second.test')
    await vi.waitFor(() => expect(upstream.sockets.size).toBe(1))
    expect(upstream.accepted()).toBe(2)
  })

  test('an unusable certificate is a TLS failure, not an internal error', async () => {
    const { origin } = await demanding()
    const spoilt = { cert: 'no certificate', key: 'no key' }
    expect(await faultIn(ask(open(), origin, tls(spoilt)))).toBe('tls')
  })
})

describe('a file of authorities', () => {
  test('applies to channels without a CA of their own, and to no others', async () => {
    const { origin } = await secureServer()
    const dispatchers = open({ SLUICE_UPSTREAM_CA_FILE: fileOf(other.ca + authority.ca) })
    expect(await ask(dispatchers, origin)).toBe('hello anonymous')
    expect(await faultIn(ask(dispatchers, origin, { tls: { ca: other.ca } }))).toBe('tls')
    expect(await faultIn(ask(open(), origin))).toBe('tls')
  })

  test('works together with a client certificate', async () => {
    const { origin } = await secureServer({ ca: authority.ca, requestCert: true })
    const dispatchers = open({ SLUICE_UPSTREAM_CA_FILE: fileOf(authority.ca) })
    const clientCertificate = authority.issue('client.test')
    expect(await ask(dispatchers, origin, { tls: { clientCertificate } })).toBe('hello client.test')
  })

  test('adds to the public authorities', () => {
    const { authorities } = readOutbound({ ...NOTHING, SLUICE_UPSTREAM_CA_FILE: fileOf(authority.ca) })
    expect(authorities?.length).toBeGreaterThan(50)
    expect(readOutbound(NOTHING).authorities).toBeUndefined()
  })

  test('that is missing or holds something else: the error names the setting and not the content', () => {
    const at = (path: string) => () => readOutbound({ ...NOTHING, SLUICE_UPSTREAM_CA_FILE: path })
    expect(at('/nowhere')).toThrow(/^SLUICE_UPSTREAM_CA_FILE: the file cannot be read \(ENOENT\)$/)
    expect(at(fileOf('word-not-to-be-seen'))).toThrow(
      /^SLUICE_UPSTREAM_CA_FILE: the file has no PEM certificate$/,
    )
  })
})

describe.each<[string, (authority: Authority) => Pair | undefined]>([
  ['an HTTP proxy', () => undefined],
  ['an HTTP proxy that speaks TLS', () => authority.issue('127.0.0.1')],
])('%s', (_, pairOf) => {
  /** A proxy, and dispatchers that use it. */
  async function through(more: Partial<Settings> = {}) {
    const proxy = await proxyOf(pairOf(authority))
    const url = proxy.url.replace('://', '://user:pass-not-to-be-seen@')
    const dispatchers = open({
      SLUICE_HTTP_PROXY: url,
      SLUICE_HTTPS_PROXY: url,
      SLUICE_UPSTREAM_CA_FILE: fileOf(authority.ca),
      ...more,
    })
    return { proxy, dispatchers }
  }
  // printf user:pass-not-to-be-seen | base64
  const AUTHORIZATION = 'Basic dXNlcjpwYXNzLW5vdC10by1iZS1zZWVu'

  test('https: opens a tunnel, keeps it for the next request and checks the certificate’s name', async () => {
    const { proxy, dispatchers } = await through()
    const upstream = await secureServer()
    expect(await ask(dispatchers, named(upstream))).toBe('hello anonymous')
    await nextTurn()
    expect(await ask(dispatchers, named(upstream))).toBe('hello anonymous')
    const { port } = new URL(upstream.origin)
    expect(proxy.requests).toEqual([`CONNECT upstream.test:${port}`])
    expect(proxy.headers[0]).toMatchObject({
      host: `upstream.test:${port}`,
      'proxy-authorization': AUTHORIZATION,
    })
    const elsewhere = upstream.origin.replace('127.0.0.1', 'other.test')
    expect(await faultIn(ask(dispatchers, elsewhere))).toBe('tls')
    expect(await ask(dispatchers, elsewhere, { tls: { serverName: 'upstream.test' } })).toBe(
      'hello anonymous',
    )
  })

  test('https: writes an IPv6 address as in a URL', async () => {
    const { proxy, dispatchers } = await through()
    const upstream = await secureServer()
    const { port } = new URL(upstream.origin)
    const tls = { serverName: 'upstream.test' }
    expect(await ask(dispatchers, `https://[2001:db8::1]:${port}`, { tls })).toBe('hello anonymous')
    expect(proxy.requests).toEqual([`CONNECT [2001:db8::1]:${port}`])
  })

  test('https: applies the channel’s own authority and certificate inside the tunnel', async () => {
    const { dispatchers } = await through()
    const upstream = await secureServer({ ca: authority.ca, requestCert: true })
    const clientCertificate = authority.issue('client.test')
    const tls = { ca: authority.ca, clientCertificate }
    expect(await ask(dispatchers, named(upstream), { tls })).toBe('hello client.test')
    expect(await faultIn(ask(dispatchers, named(upstream), { tls: { ca: other.ca } }))).toBe('tls')
  })

  test('http: sends the request with its whole URL, and the credentials to the proxy alone', async () => {
    const { proxy, dispatchers } = await through()
    const seen: unknown[] = []
    const upstream = await httpServer((req, res) => {
      seen.push(req.url, req.headers.host, JSON.stringify(req.headers).includes('proxy-auth'))
      res.end('plain')
    })
    expect(await ask(dispatchers, named(upstream))).toBe('plain')
    const host = new URL(named(upstream)).host
    expect(proxy.requests).toEqual([`POST http://${host}/v1/chat/completions`])
    expect(proxy.headers[0]).toMatchObject({ host, 'proxy-authorization': AUTHORIZATION })
    expect(seen).toEqual(['/v1/chat/completions', host, false])
  })

  test('is not used for loopback and for hosts in NO_PROXY', async () => {
    const { proxy, dispatchers } = await through({ SLUICE_NO_PROXY: ['upstream.test'] })
    const upstream = await secureServer()
    expect(await ask(dispatchers, upstream.origin)).toBe('hello anonymous')
    // Only the proxy can resolve the name.
    expect(await faultIn(ask(dispatchers, named(upstream)))).toBe('dns')
    expect(proxy.requests).toEqual([])
  })

  test.each([407, 403, 502, 503])('https: a refusal with %i is a failure of the proxy', async (status) => {
    const { proxy, dispatchers } = await through()
    proxy.refuseWith(status)
    expect(await faultIn(ask(dispatchers, 'https://upstream.test'))).toBe('proxy')
    expect(proxy.requests).toEqual(['CONNECT upstream.test:443'])
    await vi.waitFor(() => expect(proxy.tunnels.size).toBe(0))
  })

  test('http: a 407 is a failure of the proxy, any other answer is the upstream’s', async () => {
    const { proxy, dispatchers } = await through()
    proxy.refuseWith(407)
    expect(await faultIn(ask(dispatchers, 'http://upstream.test'))).toBe('proxy')
    proxy.refuseWith(undefined)
    const upstream = await httpServer((_req, res) => void res.writeHead(429).end('slow down'))
    expect(await ask(dispatchers, named(upstream))).toBe('slow down')
  })

  test.each(['http', 'https'])('%s: a proxy that is away is at fault', async (scheme) => {
    const { proxy, dispatchers } = await through()
    await proxy.close()
    expect(await faultIn(ask(dispatchers, `${scheme}://upstream.test`))).toBe('proxy')
    // The end of the test closes them.
    proxy.close = async () => undefined
  })

  test('a silent proxy is given up after the channel’s time to connect', async () => {
    const { proxy, dispatchers } = await through()
    proxy.refuseWith(0)
    const timeoutsMs = { ...testChannel().timeoutsMs, connect: 300 }
    expect(await faultIn(ask(dispatchers, 'https://upstream.test', { timeoutsMs }))).toBe('connect_timeout')
    await vi.waitFor(() => expect(proxy.tunnels.size).toBe(0))
  })

  test('a silent upstream behind it is given up after that time, too', async () => {
    const { proxy, dispatchers } = await through()
    const mute = await listen(createTcpServer(), 'https')
    const timeoutsMs = { ...testChannel().timeoutsMs, connect: 300 }
    expect(await faultIn(ask(dispatchers, named(mute), { timeoutsMs }))).toBe('connect_timeout')
    await vi.waitFor(() => expect(proxy.tunnels.size).toBe(0))
  })

  test.each(['http', 'https'])('%s: an answer streams, and an abort ends it at both ends', async (scheme) => {
    const { dispatchers } = await through()
    let closed = false
    const write = (res: import('node:http').ServerResponse) => {
      res.on('close', () => {
        closed = true
      })
      res.write('first')
    }
    const upstream =
      scheme === 'http'
        ? await httpServer((_req, res) => write(res))
        : await listen(
            createHttpsServer(server, (_req, res) => write(res)),
            'https',
          )
    const abort = new AbortController()
    const channel = testChannel({ baseURL: `${named(upstream)}/v1` })
    const dispatcher = dispatchers.get('default/a', channel)
    const response = await send(dispatcher, testRequest(named(upstream)), PATIENT, abort.signal)
    const recorded = record(response)
    abort.abort()
    expect((await recorded).last).toEqual([{ class: 'transient', detail: 'aborted' }])
    await vi.waitFor(() => expect(closed).toBe(true))
  })

  test('an upstream that disconnects behind it cuts the stream', async () => {
    const { dispatchers } = await through()
    const upstream = await listen(
      createHttpsServer(server, (_req, res) => {
        res.write('first')
        setImmediate(() => res.destroy())
      }),
      'https',
    )
    const channel = testChannel({ baseURL: `${named(upstream)}/v1` })
    const dispatcher = dispatchers.get('default/a', channel)
    const response = await send(dispatcher, testRequest(named(upstream)), PATIENT, never)
    expect((await record(response)).last).toEqual([{ class: 'transient', detail: 'cut_stream' }])
  })
})

test('a proxy with a certificate of an unknown authority is not used', async () => {
  const proxy = await proxyOf(other.issue('127.0.0.1'))
  const dispatchers = open({ SLUICE_HTTP_PROXY: proxy.url, SLUICE_HTTPS_PROXY: proxy.url })
  for (const scheme of ['http', 'https'])
    expect(await faultIn(ask(dispatchers, `${scheme}://upstream.test`))).toBe('proxy')
  expect(proxy.requests).toEqual([])
})

test('an address is not sent as the server name to a proxy that speaks TLS', async () => {
  const names: unknown[] = []
  const proxy = await listen(
    createTlsServer(authority.issue('127.0.0.1'), (socket: TLSSocket & { servername?: unknown }) => {
      names.push(socket.servername)
      socket.destroy()
    }),
    'https',
  )
  const dispatchers = open({
    SLUICE_HTTP_PROXY: proxy.origin,
    SLUICE_HTTPS_PROXY: proxy.origin,
    SLUICE_UPSTREAM_CA_FILE: fileOf(authority.ca),
  })
  for (const scheme of ['http', 'https'])
    expect(await faultIn(ask(dispatchers, `${scheme}://upstream.test`))).toMatch(/^(proxy|reset)$/)
  expect(names).toEqual([false, false])
})

test('a header reserved for the proxy fails only its own request', async () => {
  const proxy = await proxyOf()
  const dispatchers = open({ SLUICE_HTTPS_PROXY: proxy.url })
  const headers = { 'proxy-authorization': 'Basic eA==' }
  const dispatcher = dispatchers.get('default/a', testChannel({ baseURL: 'https://upstream.test' }))
  const sent = send(dispatcher, { ...testRequest('https://upstream.test'), headers }, PATIENT, never)
  expect(await faultIn(sent)).toBe('bad_request')
})

test('without settings no proxy is used', () => {
  const outbound: Outbound = readOutbound(NOTHING)
  expect(outbound.proxyFor(new URL('https://a.example'))).toBeUndefined()
})
