/** A TCP proxy between a client and the gateway, whose connections a test can cut or redirect. */
import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'

export interface TcpProxy {
  /** Used by clients instead of the target: http://127.0.0.1:PORT */
  base: string
  /** Resets all connections. */
  cut(): void
  /** Sends new connections to another address. */
  redirect(base: string): void
  close(): Promise<void>
}

export async function startTcpProxy(base: string): Promise<TcpProxy> {
  const sockets = new Set<Socket>()
  let target = base
  const server = createServer((client) => {
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
    cut,
    redirect(next) {
      target = next
    },
    async close() {
      cut()
      server.close()
      await once(server, 'close')
    },
  }
}
