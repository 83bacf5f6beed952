/**
 * Connections without a request so far: browsers and load balancers open them ahead. Node takes them for busy and, once a
 * server closes, no longer times them out. Without this a drain waits for them until its grace is over.
 */
import type { IncomingMessage, Server } from 'node:http'
import type { Socket } from 'node:net'

/** Time that a new connection has to send the head of its request. */
const HEAD_MS = 1_000

export interface UnusedConnections {
  /** Closes those that are open for longer than that. */
  close(): void
}

export function trackUnused(server: Server): UnusedConnections {
  const openedAt = new Map<Socket, number>()
  server.on('connection', (socket: Socket) => {
    openedAt.set(socket, performance.now())
    socket.once('close', () => openedAt.delete(socket))
  })
  const used = ({ socket }: IncomingMessage) => openedAt.delete(socket)
  server.on('request', used)
  server.on('checkContinue', used)
  server.on('checkExpectation', used)
  server.on('upgrade', used)
  return {
    close() {
      const latest = performance.now() - HEAD_MS
      for (const [socket, at] of openedAt) if (at <= latest) socket.destroy()
    },
  }
}
