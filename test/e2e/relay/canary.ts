/** A server on every address of this machine that must not be reached. */
import { createServer, type Socket } from 'node:net'
import { onTestFinished } from 'vitest'
import { portOf } from '../../../proxy/outbound/testing.ts'
import { OK } from './setup.ts'

export interface Canary {
  port: number
  /** Local address of each connection. */
  reached: string[]
}

/** Listens until the test has finished, on all IPv4 and IPv6 addresses unless `host` is given. */
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
