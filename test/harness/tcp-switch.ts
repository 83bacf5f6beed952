/** A port whose connections lead to another port that the test chooses, like the address of a Service. */

import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { connect, createServer, type Socket } from 'node:net'

export interface TcpSwitch {
  port: number
  /** Breaks all connections; new ones lead there. Undefined: new ones are broken, too. */
  lead(to: number | undefined): void
  close(): Promise<void>
}

export async function startSwitch(to?: number): Promise<TcpSwitch> {
  let target = to
  const sockets = new Set<Socket>()
  const server = createServer((near) => {
    if (target === undefined) return void near.destroy()
    const far = connect(target, '127.0.0.1')
    for (const [socket, other] of [
      [near, far],
      [far, near],
    ] as const) {
      sockets.add(socket)
      socket.setNoDelay()
      socket.on('error', () => undefined)
      socket.on('close', () => {
        sockets.delete(socket)
        other.destroy()
      })
      socket.pipe(other)
    }
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const cut = () => {
    for (const socket of sockets) socket.destroy()
  }
  return {
    port: (server.address() as AddressInfo).port,
    lead(next) {
      target = next
      cut()
    },
    async close() {
      target = undefined
      cut()
      server.close()
      await once(server, 'close')
    },
  }
}
