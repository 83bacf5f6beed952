/** Connections that a test can cut, or lead elsewhere, between a client and what it thinks it talks to. */
import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'

export interface Wire {
  /** Stands in for the address that was given: http://127.0.0.1:PORT */
  base: string
  /** Connections that were opened so far. */
  opened(): number
  /** Breaks all connections off. */
  cut(): void
  /** Leads new connections to another address. */
  lead(base: string): void
  close(): Promise<void>
}

export async function openWire(base: string): Promise<Wire> {
  const sockets = new Set<Socket>()
  let target = base
  let opened = 0
  const server = createServer((client) => {
    opened++
    const { hostname, port } = new URL(target)
    const other = connect(Number(port), hostname)
    for (const [socket, peer] of [
      [client, other],
      [other, client],
    ] as const) {
      sockets.add(socket)
      socket.pipe(peer)
      socket.on('error', () => undefined)
      socket.on('close', () => {
        sockets.delete(socket)
        peer.destroy()
      })
    }
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const cut = () => {
    for (const socket of sockets) socket.resetAndDestroy()
  }
  return {
    base: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    opened: () => opened,
    cut,
    lead(next) {
      target = next
    },
    async close() {
      cut()
      server.close()
      await once(server, 'close')
    },
  }
}
