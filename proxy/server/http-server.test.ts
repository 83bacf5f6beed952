import { once } from 'node:events'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { type AddressInfo, connect, type Socket } from 'node:net'
import { expect, onTestFinished, test } from 'vitest'
import { AddressSet } from '../../contract/address.ts'
import { Together } from '../../kit/together.ts'
import { sendError } from './error-response.ts'
import { createHttpServer, type Handler } from './http-server.ts'

const LIMITS = {
  headersTimeoutMs: 10_000,
  requestTimeoutMs: 10_000,
  idleTimeoutMs: 10_000,
  clientStallMs: 300,
  maxHeaderBytes: 16_384,
  maxHeaders: 100,
  maxRequestsPerConnection: 1_000,
  maxConnections: 100,
  maxConnectionsPerClient: 0,
  trustedProxies: new AddressSet([]),
}

/** For events that happen at once unless the machine is busy. */
const SOON = { timeout: 10_000 }

/** A server with this handler, and one connection to it. */
async function connected(handle: Handler, draining = () => false, limits = LIMITS) {
  const refuse = (req: IncomingMessage, res: ServerResponse, error: Parameters<typeof sendError>[2]) =>
    sendError(req, res, error, 'req_1')
  const server = createHttpServer(limits, {
    handle,
    refuse,
    breakOff: refuse,
    upgrades: { should: () => false, take: () => undefined },
    draining,
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const accepted = once(server, 'connection')
  // It can keep sending after the server has closed its side.
  const { port } = server.address() as AddressInfo
  const socket = connect({ port, host: '127.0.0.1', allowHalfOpen: true })
  socket.on('error', () => undefined)
  onTestFinished(() => {
    socket.destroy()
    server.closeAllConnections()
    server.close()
  })
  const [other] = (await accepted) as [Socket]
  let text = ''
  const read = () => {
    socket.on('data', (chunk) => {
      text += chunk
    })
  }
  return { port, socket, other, read, text: () => text, closed: once(other, 'close') }
}

const get = (path: string, more = '') => `GET ${path} HTTP/1.1\r\nhost: x\r\n${more}\r\n`
/** More than any kernel buffers for a client that does not read. */
const LARGE = Buffer.alloc(64 * 1_048_576, ' ')

test('a client that does not read its whole answer is cut off', async () => {
  const { socket, closed } = await connected((_req, res) => res.end(LARGE))
  socket.pause()
  socket.write(get('/'))
  await closed
})

test('a client that does not read an answer queued behind others is cut off', async () => {
  const { socket, closed } = await connected((req, res) => res.end(req.url === '/last' ? LARGE : 'short'))
  socket.pause()
  socket.write(get('/') + get('/') + get('/last'))
  await closed
})

test('a client that waits for its answer is not cut off', async () => {
  const { socket, other, read, text } = await connected((req, res) => {
    if (req.url === '/first') res.end('first')
    // Three times as long as an answer may stay unread.
    else setTimeout(() => res.end('second'), 900)
  })
  read()
  socket.write(get('/first') + get('/second'))
  await expect.poll(text, SOON).toContain('second')
  expect(other.destroyed).toBe(false)
})

test('a client that reads slowly gets the whole answer', async () => {
  const { socket, text, closed } = await connected((_req, res) => {
    res.shouldKeepAlive = false
    res.end(LARGE.subarray(0, 8 * 1_048_576))
  })
  let received = 0
  socket.on('data', (chunk: Buffer) => {
    received += chunk.length
    socket.pause()
    setTimeout(() => socket.resume(), chunk.length / 8_192)
  })
  socket.write(get('/'))
  await closed
  await expect.poll(() => received, SOON).toBeGreaterThan(8 * 1_048_576)
  expect(text()).toBe('')
})

test('nothing is served behind an answer that closes the connection', async () => {
  const served: string[] = []
  const held: ServerResponse[] = []
  const { socket, read, text, closed } = await connected(
    (req, res) => {
      served.push(req.url ?? '')
      held.push(res)
    },
    () => true,
  )
  read()
  socket.write(get('/last') + get('/behind'))
  await expect.poll(() => held.length, SOON).toBeGreaterThan(0)
  for (const res of held) res.end('done')
  await closed
  expect(served).toEqual(['/last'])
  expect(text().match(/HTTP\/1\.1 200/g)).toHaveLength(1)
})

test('while it drains each answer closes its connection', async () => {
  const { socket, read, text, closed } = await connected(
    (_req, res) => res.end('done'),
    () => true,
  )
  read()
  socket.write(get('/'))
  await closed
  await expect.poll(text, SOON).toMatch(/\r\nconnection: close\r\n/i)
})

test('garbage from the client during an answer does not change the answer', async () => {
  const { promise, resolve } = Promise.withResolvers<ServerResponse>()
  const { socket, read, text, closed } = await connected((_req, res) => {
    res.write('begin ')
    resolve(res)
  })
  read()
  socket.write(`${get('/')}\0\0\0\0`)
  const res = await promise
  await expect.poll(text, SOON).toContain('begin')
  socket.write('\0\0\0\0')
  res.end('end')
  await closed
  await expect
    .poll(text, SOON)
    .toMatch(/\r\n6\r\nbegin \r\n3\r\nend\r\n0\r\n\r\nHTTP\/1.1 400 Bad Request\r\n[\s\S]*\}$/)
})

test('an answer is cut, not completed, if its request breaks after the head', async () => {
  const { socket, read, text, closed } = await connected((_req, res) => void res.write('begin'))
  read()
  socket.write(get('/', 'transfer-encoding: chunked\r\n'))
  await expect.poll(text, SOON).toContain('begin')
  socket.write('zz\r\n')
  await closed
  expect(text()).toMatch(/\r\nbegin\r\n$/)
})

test('a client that keeps sending after a refusal is cut off', async () => {
  const { socket, read, text, closed } = await connected(() => undefined)
  read()
  const timer = setInterval(() => socket.write('\0'.repeat(1_000)), 20)
  onTestFinished(() => clearInterval(timer))
  await closed
  expect(text().match(/HTTP\/1\.1 \d/g)).toHaveLength(1)
  expect(text()).toMatch(/\r\nx-sluice-error: invalid_request\r\n[\s\S]*\}$/)
})

test('a request that completes after its time-out is not served', async () => {
  let served = 0
  const { socket, other, read, text } = await connected(
    () => served++,
    () => false,
    { ...LIMITS, headersTimeoutMs: 200 },
  )
  read()
  const [start = '', rest = ''] = get('/').split('host')
  socket.write(start)
  await expect.poll(text, SOON).toContain('request_timeout')
  socket.write(`host${rest}`)
  await expect.poll(() => other.bytesRead, SOON).toBe(get('/').length)
  expect(served).toBe(0)
})

test('of many clients that connect at once, all are served once before any is served often', async () => {
  const together = new Together()
  const { port } = await connected((_req, res) => together.add(() => void res.end('ok')))
  const served: number[] = new Array(LIMITS.maxConnections - 1).fill(0)
  await new Promise<void>((resolve) => {
    for (const at of served.keys()) {
      const socket = connect(port, '127.0.0.1', () => socket.write(get('/')))
      onTestFinished(() => void socket.destroy())
      socket.on('data', () => {
        served[at] = (served[at] ?? 0) + 1
        if (served.every((count) => count > 0)) resolve()
        else socket.write(get('/'))
      })
    }
  })
  expect(Math.max(...served)).toBeLessThan(10)
})
