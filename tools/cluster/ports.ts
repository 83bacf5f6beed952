/** Ports of 127.0.0.1 for servers whose port must still be free after a restart. */
import { randomInt } from 'node:crypto'
import { once } from 'node:events'
import { createServer } from 'node:net'

/** Below the range of ports for outgoing connections. */
const [LOWEST, BEYOND] = [20_000, 32_000]
const TRIES = 1000

/** Different ports that are free now. */
export async function freePorts(count: number): Promise<number[]> {
  const found = new Set<number>()
  for (let tries = 0; found.size < count && tries < TRIES; tries++) {
    const port = randomInt(LOWEST, BEYOND)
    if (await isFree(port)) found.add(port)
  }
  if (found.size < count) throw new Error(`no free ports between ${LOWEST} and ${BEYOND}`)
  return [...found]
}

export async function freePort(): Promise<number> {
  const [port = 0] = await freePorts(1)
  return port
}

/** True if a server could listen there now. */
export async function isFree(port: number): Promise<boolean> {
  const server = createServer()
  const outcome = new Promise<boolean>((resolve) => {
    server.once('error', () => resolve(false))
    server.once('listening', () => resolve(true))
  })
  server.listen({ port, host: '127.0.0.1' })
  if (!(await outcome)) return false
  server.close()
  await once(server, 'close')
  return true
}
