/** One port on several addresses. A Node server listens on one address; other listeners pass their connections to it. */
import { once } from 'node:events'
import type { Server as HttpServer } from 'node:http'
import { createServer, type Server, type Socket } from 'node:net'

/** Tries to find a port that is free on all addresses. */
const TRIES = 10
/**
 * Connections that may wait to be accepted. With Node's 511, connections were reset or timed out while a busy proxy got 5,000
 * streams at 350 a second.
 */
const BACKLOG = 4_096
/** Errors for an address that the machine does not have. */
const ABSENT = ['EADDRNOTAVAIL', 'EAFNOSUPPORT']

/**
 * Listens on the first address, and on those of the others that the machine has; without addresses, on all interfaces.
 * Port 0 finds a port that is free on all of them. Returns the other listeners, which the caller must close. Rejects
 * with the listen error, whose `port` is the one that was taken.
 */
export async function listen(server: HttpServer, port: number, hosts: readonly string[]): Promise<Server[]> {
  const [first, ...others] = hosts
  for (let tries = 1; ; tries++) {
    await bind(server, port, first)
    const taken = portOf(server)
    const listeners: Server[] = []
    try {
      for (const host of others) listeners.push(...(await alsoListen(server, taken, host)))
      return listeners
    } catch (error) {
      await Promise.all([server, ...listeners].map(closed))
      if (port !== 0 || tries === TRIES || codeOf(error) !== 'EADDRINUSE') throw error
    }
  }
}

export function portOf(server: Server | HttpServer): number {
  const address = server.address()
  return typeof address === 'object' && address !== null ? address.port : 0
}

async function alsoListen(server: HttpServer, port: number, host: string): Promise<Server[]> {
  // The options with which Node's HTTP server listens.
  const listener = createServer({ allowHalfOpen: true, noDelay: true })
  listener.on('connection', (socket: Socket) => server.emit('connection', socket))
  if (server.maxConnections !== undefined) listener.maxConnections = server.maxConnections
  try {
    await bind(listener, port, host)
    return [listener]
  } catch (error) {
    if (ABSENT.includes(codeOf(error))) return []
    throw error
  }
}

/** Without a host Node listens on all interfaces, including IPv6 if the machine has it. */
async function bind(server: Server | HttpServer, port: number, host: string | undefined): Promise<void> {
  server.listen({ port, host, backlog: BACKLOG })
  await once(server, 'listening')
}

async function closed(server: Server | HttpServer): Promise<void> {
  server.close()
  await once(server, 'close')
}

function codeOf(error: unknown): string {
  return error instanceof Error && 'code' in error ? String(error.code) : ''
}
