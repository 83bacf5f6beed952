/** A server that nobody may reach, at every address of this machine. */
import { createServer, type Socket } from 'node:net'
import { onTestFinished } from 'vitest'
import { portOf } from '../../../proxy/outbound/testing.ts'
import { OK } from './setup.ts'

export interface Canary {
  port: number
  /** Addresses of this machine at which somebody came, one for each connection. */
  reached: string[]
}

/** At all interfaces, in both families, unless `host` is given. Listens until the test has finished. */
export async function startCanary(host?: string): Promise<Canary> {
  const reached: string[] = []
  const sockets = new Set<Socket>()
  const server = createServer((socket) => {
    reached.push((socket.localAddress ?? '').replace(/^::ffff:/, ''))
    sockets.add(socket)
    socket.on('error', () => undefined)
    socket.on('data', () => socket.end(OK))
  })
  await new Promise<void>((resolve) => server.listen({ port: 0, host }, resolve))
  onTestFinished(() => {
    server.close()
    for (const socket of sockets) socket.destroy()
  })
  return { port: portOf(server), reached }
}
