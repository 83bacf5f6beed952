import { execFileSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer as createHttpServer } from 'node:http'
import { createServer as createHttpsServer } from 'node:https'
import { connect, createServer, type Server } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import {
  createServer as createTlsServer,
  getCACertificates,
  setDefaultCACertificates,
  type TLSSocket,
} from 'node:tls'
import { afterAll, beforeAll, describe, expect, onTestFinished, test, vi } from 'vitest'
import { open, readAll } from '../../test/harness/http.ts'
import { HEADERS, relayBody, resolvesTo, startRelay } from '../relay/testing.ts'
import { type CheckedTarget, type ConnectOptions, connectTo } from './checked.ts'
import { proxyAt } from './proxies.ts'
import { never, portOf } from './testing.ts'

const UNREACHABLE = { code: 'upstream_error', status: 502, message: 'The upstream could not be reached.' }

/** Listens until the test has finished; resolves with the port. */
async function listenOn(server: Server, host: string, port = 0): Promise<number> {
  const sockets = new Set<{ destroy(): void }>()
  server.on('connection', (socket) => {
    sockets.add(socket.on('error', () => undefined))
  })
  server.listen(port, host)
  await once(server, 'listening')
  onTestFinished(() => {
    server.close()
    for (const socket of sockets) socket.destroy()
  })
  return portOf(server)
}

/** Answers with its own address. */
const greeter = (name: string) => createServer((socket) => void socket.resume().write(name))

async function connected(
  url: string,
  addresses: string[],
  options: Partial<ConnectOptions> = {},
  signal = never,
) {
  const { isAllowed, target } = resolvesTo(...addresses)
  const socket = await connectTo(
    await target(url, never),
    { connectMs: 5_000, proxy: undefined, isAllowed, ...options },
    signal,
  )
  onTestFinished(() => void socket.destroy())
  return socket
}

async function greeting(
  url: string,
  addresses: string[],
  options?: Partial<ConnectOptions>,
): Promise<string> {
  const socket = await connected(url, addresses, options)
  socket.write('hello')
  const [chunk] = await once(socket, 'data')
  return String(chunk)
}

describe('the address of a connection', () => {
  test('is the one that was checked, whatever the name resolves to now', async () => {
    const port = await listenOn(greeter('one'), '127.0.0.1')
    await listenOn(greeter('two'), '127.0.0.2', port)
    for (const name of ['localhost', 'checked', 'upstream.invalid', '127.0.0.1'])
      expect(await greeting(`http://${name}:${port}`, ['127.0.0.2'])).toBe('two')
  })

  test('is the next one if the first refuses or stays silent', async () => {
    const port = await listenOn(greeter('two'), '127.0.0.2')
    expect(await greeting(`http://a.example:${port}`, ['127.0.0.1', '127.0.0.2'])).toBe('two')
    expect(await greeting(`http://a.example:${port}`, ['::1', '127.0.0.2'])).toBe('two')
  })

  test('is checked again once there is a connection', async () => {
    const closed = vi.fn()
    const server = createServer((socket) => void socket.resume().on('close', closed))
    const port = await listenOn(server, '127.0.0.1')
    const isAllowed = vi.fn((_address: string, _target: CheckedTarget) => false)
    await expect(connected(`http://a.example:${port}`, ['127.0.0.1'], { isAllowed })).rejects.toMatchObject(
      UNREACHABLE,
    )
    expect(isAllowed.mock.calls).toMatchObject([['127.0.0.1', { hostname: 'a.example' }]])
    await vi.waitFor(() => expect(closed).toHaveBeenCalled())
  })

  test('fails if no server listens there', async () => {
    const server = createServer()
    const port = await listenOn(server, '127.0.0.1')
    server.close()
    await once(server, 'close')
    const refused = await connected(`http://a.example:${port}`, ['127.0.0.1', '127.0.0.2']).catch(
      (error: unknown) => error,
    )
    expect(refused).toMatchObject(UNREACHABLE)
    expect(refused).not.toHaveProperty('cause')
  })
})

describe('a connection is given up', () => {
  const mute = () => createServer((socket) => void socket.resume())

  test('after its time-out, which includes TLS', async () => {
    const port = await listenOn(mute(), '127.0.0.1')
    await expect(
      connected(`https://a.example:${port}`, ['127.0.0.1'], { connectMs: 50 }),
    ).rejects.toMatchObject(UNREACHABLE)
  })

  test('with the reason of the signal', async () => {
    const port = await listenOn(mute(), '127.0.0.1')
    const reason = new Error('enough')
    const url = `https://a.example:${port}`
    await expect(connected(url, ['127.0.0.1'], {}, AbortSignal.abort(reason))).rejects.toBe(reason)
    const control = new AbortController()
    const waiting = connected(url, ['127.0.0.1'], {}, control.signal)
    control.abort(reason)
    await expect(waiting).rejects.toBe(reason)
  })
})

describe('through a proxy', () => {
  /** An HTTP proxy that answers CONNECT with `status`, and remembers the requests. */
  async function proxyOf(status = 200) {
    const requests: { path: string | undefined; headers: object }[] = []
    const proxy = createHttpServer()
    proxy.on('connect', (req, socket) => {
      requests.push({ path: req.url, headers: req.headers })
      socket.on('error', () => undefined)
      socket.write(`HTTP/1.1 ${status} Answer\r\n\r\n`)
      socket.once('data', () => socket.write('inside'))
    })
    const port = await listenOn(proxy, '127.0.0.1')
    return { requests, url: (login = '') => proxyAt(`http://${login}127.0.0.1:${port}`) }
  }

  test('the proxy gets the first checked address and never the name, and may itself have a private address', async () => {
    const proxy = await proxyOf()
    const options = { proxy: proxy.url(), isAllowed: () => false }
    expect(await greeting('http://a.example:81', ['192.0.2.1', '192.0.2.2'], options)).toBe('inside')
    expect(await greeting('http://a.example', ['2001:db8::1'], options)).toBe('inside')
    expect(proxy.requests).toEqual([
      { path: '192.0.2.1:81', headers: { host: '192.0.2.1:81', connection: 'close' } },
      { path: '[2001:db8::1]:80', headers: { host: '[2001:db8::1]:80', connection: 'close' } },
    ])
  })

  test('only the proxy gets its user and password', async () => {
    const proxy = await proxyOf()
    await greeting('http://a.example', ['192.0.2.1'], { proxy: proxy.url('us%40er:p%3Aw@') })
    expect(proxy.requests[0]?.headers).toHaveProperty(
      'proxy-authorization',
      `Basic ${Buffer.from('us@er:p:w').toString('base64')}`,
    )
  })

  test.each([403, 407, 502])('%i from a proxy fails the connection', async (status) => {
    const proxy = await proxyOf(status)
    await expect(connected('http://a.example', ['192.0.2.1'], { proxy: proxy.url() })).rejects.toMatchObject(
      UNREACHABLE,
    )
  })

  test('bytes before the request was sent fail the connection', async () => {
    const proxy = createHttpServer()
    proxy.on('connect', (_req, socket) => {
      socket.on('error', () => undefined).write('HTTP/1.1 200 OK\r\n\r\nHTTP/1.1 200 OK\r\n\r\n')
    })
    const options = { proxy: proxyAt(`http://127.0.0.1:${await listenOn(proxy, '127.0.0.1')}`) }
    await expect(connected('http://a.example', ['192.0.2.1'], options)).rejects.toMatchObject(UNREACHABLE)
  })

  test('a silent proxy is given up after the time to connect', async () => {
    const port = await listenOn(
      createServer((socket) => void socket.resume()),
      '127.0.0.1',
    )
    const proxy = proxyAt(`http://127.0.0.1:${port}`)
    await expect(
      connected('http://a.example', ['192.0.2.1'], { proxy, connectMs: 50 }),
    ).rejects.toMatchObject(UNREACHABLE)
  })
})

function hasOpenssl(): boolean {
  try {
    execFileSync('openssl', ['version'], { stdio: 'ignore' })
    return true
  } catch {
    return false
  }
}

describe.runIf(hasOpenssl())('TLS', () => {
  const folder = mkdtempSync(join(tmpdir(), 'sluice-relay-'))
  const authorities = getCACertificates('default')
  let key: string
  let cert: string

  beforeAll(() => {
    const openssl = (...args: string[]) => execFileSync('openssl', args, { stdio: 'ignore', cwd: folder })
    const curve = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes']
    openssl(
      'req',
      '-x509',
      ...curve,
      '-keyout',
      'ca.key',
      '-out',
      'ca.crt',
      '-subj',
      '/CN=test-ca',
      '-days',
      '2',
    )
    openssl('req', ...curve, '-keyout', 'tls.key', '-out', 'tls.csr', '-subj', '/CN=relay.test')
    writeFileSync(join(folder, 'san'), 'subjectAltName=DNS:relay.test,IP:127.0.0.3\n')
    const signed = ['-CA', 'ca.crt', '-CAkey', 'ca.key', '-CAcreateserial', '-days', '2', '-extfile', 'san']
    openssl('x509', '-req', '-in', 'tls.csr', '-out', 'tls.crt', ...signed)
    const read = (name: string) => readFileSync(join(folder, name), 'utf8')
    key = read('tls.key')
    cert = read('tls.crt')
    setDefaultCACertificates([...authorities, read('ca.crt')])
  })
  afterAll(() => {
    setDefaultCACertificates(authorities)
    rmSync(folder, { recursive: true })
  })

  async function secureServer(host: string) {
    const seen: { name: unknown; protocol: unknown }[] = []
    const server = createTlsServer({ key, cert, ALPNProtocols: ['h2', 'http/1.1'] })
    server.on('secureConnection', (socket: TLSSocket & { servername?: unknown }) => {
      seen.push({ name: socket.servername, protocol: socket.alpnProtocol })
      socket
        .on('error', () => undefined)
        .resume()
        .write('secure')
    })
    return { port: await listenOn(server, host), seen }
  }

  test('the certificate must be that of the URL’s host, which is sent as the server name', async () => {
    const { port, seen } = await secureServer('127.0.0.3')
    expect(await greeting(`https://relay.test:${port}`, ['127.0.0.3'])).toBe('secure')
    expect(seen).toEqual([{ name: 'relay.test', protocol: 'http/1.1' }])
    for (const name of ['other.test', 'localhost', 'test'])
      await expect(connected(`https://${name}:${port}`, ['127.0.0.3'])).rejects.toMatchObject(UNREACHABLE)
  })

  test('an address is compared with the certificate and not sent as a server name', async () => {
    const { port, seen } = await secureServer('127.0.0.3')
    expect(await greeting(`https://127.0.0.3:${port}`, ['127.0.0.3'])).toBe('secure')
    expect(seen).toEqual([{ name: false, protocol: 'http/1.1' }])
    const other = await secureServer('127.0.0.4')
    await expect(connected(`https://127.0.0.4:${other.port}`, ['127.0.0.4'])).rejects.toMatchObject(
      UNREACHABLE,
    )
  })

  test('an unknown authority is refused even if the environment disables the check', async () => {
    const { port } = await secureServer('127.0.0.3')
    vi.stubEnv('NODE_TLS_REJECT_UNAUTHORIZED', '0')
    setDefaultCACertificates(authorities)
    onTestFinished(() => {
      vi.unstubAllEnvs()
      setDefaultCACertificates([...authorities, readFileSync(join(folder, 'ca.crt'), 'utf8')])
    })
    await expect(connected(`https://relay.test:${port}`, ['127.0.0.3'])).rejects.toMatchObject(UNREACHABLE)
  })

  test('a relayed call uses it, in a connection of its own', async () => {
    const server = createHttpsServer(
      { key, cert },
      (req, res) => void req.resume().on('end', () => res.end('private')),
    )
    const closed = vi.fn()
    server.on('secureConnection', (socket) => socket.on('close', closed))
    const port = await listenOn(server, '127.0.0.3')
    const relay = await startRelay({ policy: resolvesTo('127.0.0.3') })
    for (const [name, status] of [
      ['relay.test', 200],
      ['other.test', 502],
      ['relay.test', 200],
    ]) {
      const body = relayBody(`https://${name}:${port}/v1`)
      const res = await open(relay.origin, { method: 'POST', headers: HEADERS, body })
      expect(res.statusCode).toBe(status)
      if (status === 200) expect((await readAll(res)).toString()).toBe('private')
      else res.resume()
    }
    await vi.waitFor(() => expect(closed).toHaveBeenCalledTimes(2))
  })

  test('works the same through a proxy', async () => {
    const { port } = await secureServer('127.0.0.3')
    const proxy = createHttpServer()
    proxy.on('connect', (req, socket) => {
      const [host = '', to = ''] = (req.url ?? '').split(':')
      const onward = connect(Number(to), host).on('error', () => undefined)
      socket.on('error', () => undefined).write('HTTP/1.1 200 OK\r\n\r\n')
      socket.pipe(onward).pipe(socket)
    })
    const options = { proxy: proxyAt(`http://127.0.0.1:${await listenOn(proxy, '127.0.0.1')}`) }
    expect(await greeting(`https://relay.test:${port}`, ['127.0.0.3'], options)).toBe('secure')
    await expect(connected(`https://other.test:${port}`, ['127.0.0.3'], options)).rejects.toMatchObject(
      UNREACHABLE,
    )
  })
})
