/** Drains a server: it takes no new connections, and breaks off requests that have not finished within the grace. */
import { once } from 'node:events'
import type { Server } from 'node:http'
import type { Server as Listener } from 'node:net'
import { setTimeout as delay } from 'node:timers/promises'
import type { Sockets } from '../socket/sockets.ts'
import type { UnusedConnections } from './unused-connections.ts'

/** Time for broken-off requests to answer their clients. */
const BREAK_OFF_MS = 2_000
/** Time for settles once all connections are closed. */
export const SETTLE_MS = 10_000
const LOOK_EVERY_MS = 100

interface DrainOptions {
  server: Server
  /** Listeners on further addresses, which pass their connections to the server. */
  listeners?: readonly Listener[]
  unused: UnusedConnections
  sockets: Pick<Sockets, 'leave' | 'terminate'>
  graceMs: number
  /** Ends the requests in flight, each with an error. */
  breakOff: () => void
  /** Requests that are not over. A request is over when its bill is settled. */
  inFlight: () => number
}

export async function drain(options: DrainOptions): Promise<void> {
  const { server, listeners = [], unused, sockets, graceMs, breakOff, inFlight } = options
  const closed = Promise.all([server, ...listeners].map((one) => once(one, 'close')))
  for (const one of [server, ...listeners]) one.close()
  sockets.leave()
  server.closeIdleConnections()
  const idle = setInterval(() => {
    server.closeIdleConnections()
    unused.close()
  }, LOOK_EVERY_MS)
  const cut = setTimeout(breakOff, graceMs)
  const kill = setTimeout(() => {
    server.closeAllConnections()
    sockets.terminate()
  }, graceMs + BREAK_OFF_MS)
  await closed
  clearInterval(idle)
  clearTimeout(cut)
  clearTimeout(kill)
  const deadline = performance.now() + SETTLE_MS
  while (inFlight() > 0 && performance.now() < deadline) await delay(LOOK_EVERY_MS / 10)
}
