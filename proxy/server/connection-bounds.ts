/** How many connections are taken, in all and of one client; those beyond hear why before any byte of theirs is read. */
import type { Server } from 'node:http'
import type { Socket } from 'node:net'
import { type AddressSet, networkOf } from '../../contract/address.ts'
import { PerClient } from '../../kit/per-client.ts'
import { GatewayError } from '../errors.ts'
import { answerBare } from './bare-answer.ts'

export interface ConnectionLimits {
  maxConnections: number
  /** Of one IPv4 address or IPv6 /64; 0 for no bound. */
  maxConnectionsPerClient: number
  /** Proxies, whose connections are those of many clients. */
  trustedProxies: Pick<AddressSet, 'has'>
}

/** So many hear at the same time why they are refused; all others are closed without a word. */
const REFUSED_AT_ONCE = 100

export function boundConnections(server: Server, limits: ConnectionLimits): void {
  let taken = 0
  /** By network. */
  const byClient = new PerClient()

  const problemOf = (client: string | undefined): GatewayError | undefined => {
    if (taken >= limits.maxConnections) {
      const message = 'The gateway has all the connections that it takes; try again in a moment.'
      return new GatewayError('overloaded', message, { retryAfterSeconds: 1 })
    }
    if (client === undefined || byClient.of(client) < limits.maxConnectionsPerClient) return undefined
    return new GatewayError('rate_limit_exceeded', 'You have too many connections.', { retryAfterSeconds: 1 })
  }
  const count = (socket: Socket, client: string | undefined) => {
    taken++
    const leave = client === undefined ? undefined : byClient.enter(client)
    socket.once('close', () => {
      taken--
      leave?.()
    })
  }

  server.maxConnections = limits.maxConnections + REFUSED_AT_ONCE
  // Node's own listener reads: it gets only what is taken.
  const listeners = server.listeners('connection')
  server.removeAllListeners('connection')
  server.on('connection', (socket: Socket) => {
    const client = boundClientOf(socket, limits)
    const problem = problemOf(client)
    if (problem === undefined) {
      count(socket, client)
      for (const listener of listeners) listener.call(server, socket)
    } else {
      socket.on('error', () => socket.destroy())
      // Unread bytes would cost the client its answer.
      socket.resume()
      answerBare(socket, problem)
    }
  })
}

/** Undefined for connections that are bounded by nothing but the number of all. */
function boundClientOf({ remoteAddress }: Socket, limits: ConnectionLimits): string | undefined {
  if (limits.maxConnectionsPerClient === 0 || remoteAddress === undefined) return undefined
  return limits.trustedProxies.has(remoteAddress) ? undefined : networkOf(remoteAddress)
}
