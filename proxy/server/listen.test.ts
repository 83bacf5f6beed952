import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { createServer, type Server as HttpServer } from 'node:http'
import { connect, createServer as createNetServer, type Server } from 'node:net'
import { expect, onTestFinished, test, vi } from 'vitest'
import { drain } from './drain.ts'
import { listen, portOf } from './listen.ts'
import { trackUnused } from './unused-connections.ts'

const LOOPBACK = ['127.0.0.1', '::1']

/** Where the machine has IPv6. */
const six = await taker('::1').then(
  async ({ server }) => {
    server.close()
    return true
  },
  () => false,
)

async function taker(host: string, port = 0) {
  const server = createNetServer()
  server.listen({ port, host })
  await once(server, 'listening')
  return { server, port: portOf(server) }
}

function httpServer(): HttpServer {
  const server = createServer((req, res) => res.end(`${req.socket.remoteAddress}`))
  onTestFinished(() => {
    server.close()
    server.closeAllConnections()
  })
  return server
}

function ending(listeners: Server[]) {
  onTestFinished(() => {
    for (const listener of listeners) listener.close()
  })
  return listeners
}

const textOf = async (url: string) => (await fetch(url, { headers: { connection: 'close' } })).text()

test.runIf(six)('serves the same port on both loopback addresses, also for port 0', async () => {
  const server = httpServer()
  expect(ending(await listen(server, 0, LOOPBACK))).toHaveLength(1)
  expect(await textOf(`http://127.0.0.1:${portOf(server)}`)).toBe('127.0.0.1')
  expect(await textOf(`http://[::1]:${portOf(server)}`)).toBe('::1')
})

test.runIf(six)('a port that is taken only on the second address is an error', async () => {
  const { server: other, port } = await taker('::1')
  onTestFinished(() => void other.close())
  const server = httpServer()
  await expect(listen(server, port, LOOPBACK)).rejects.toMatchObject({ code: 'EADDRINUSE', port })
  expect(server.listening).toBe(false)
})

test.runIf(six)('port 0 skips a port that is taken on the second address', async () => {
  const server = httpServer()
  const { server: other, port } = await taker('::1')
  onTestFinished(() => void other.close())
  const { listen: own } = server
  const listens = vi.spyOn(server, 'listen').mockImplementationOnce((options) => {
    // The system picks the port that is taken on the other address.
    return own.call(server, { ...(options as object), port })
  })
  ending(await listen(server, 0, LOOPBACK))
  expect(listens).toHaveBeenCalledTimes(2)
  expect(portOf(server)).not.toBe(port)
  expect(await textOf(`http://[::1]:${portOf(server)}`)).toBe('::1')
})

test('an address that the machine does not have is skipped', async () => {
  const server = httpServer()
  // A documentation address (RFC 5737).
  expect(await listen(server, 0, ['127.0.0.1', '198.51.100.77'])).toEqual([])
  expect(await textOf(`http://127.0.0.1:${portOf(server)}`)).toBe('127.0.0.1')
})

test.runIf(six)('a drain waits for connections on every address', async () => {
  let end: (() => void) | undefined
  const server = createServer((_req, res) => {
    end = () => void res.end('done')
  })
  const listeners = await listen(server, 0, LOOPBACK)
  const answer = textOf(`http://[::1]:${portOf(server)}`)
  await vi.waitUntil(() => end !== undefined)
  let drained = false
  const draining = drain({
    ...{ server, listeners, unused: trackUnused(server), graceMs: 60_000, inFlight: () => 0 },
    sockets: { leave: () => undefined, terminate: () => undefined },
    breakOff: () => undefined,
  }).then(() => {
    drained = true
  })
  // The server's own listener has no connection, and closes at once.
  await once(server, 'close')
  await new Promise(setImmediate)
  expect(drained).toBe(false)
  end?.()
  await draining
  expect(await answer).toBe('done')
  expect(listeners.map(({ listening }) => listening)).toEqual([false])
})

test.runIf(process.platform === 'linux')('a thousand connections may wait to be accepted', async () => {
  const server = httpServer()
  await listen(server, 0, ['127.0.0.1'])
  const port = portOf(server)
  const clients = Array.from({ length: 1_000 }, () => connect({ host: '127.0.0.1', port }))
  onTestFinished(() => {
    for (const client of clients) client.destroy()
  })
  // A tick, because the event loop accepts connections after all ticks, and sockets connect in them.
  const waiting = await new Promise((resolve) => process.nextTick(() => resolve(waitingAt(port))))
  const most = Number(readFileSync('/proc/sys/net/core/somaxconn', 'utf8')) + 1
  expect(waiting).toBe(Math.min(clients.length, most))
})

/** Length of the kernel's queue of a listening port: the receive queue of its line in proc_net_tcp(5), whose state is 0A. */
function waitingAt(port: number): number {
  const local = `0100007F:${port.toString(16).toUpperCase().padStart(4, '0')}`
  for (const line of readFileSync('/proc/net/tcp', 'utf8').split('\n')) {
    const [, address, , state, queues = ''] = line.trim().split(/ +/)
    if (address === local && state === '0A') return Number.parseInt(queues.split(':')[1] ?? '', 16)
  }
  return 0
}
