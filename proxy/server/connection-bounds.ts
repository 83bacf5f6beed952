/** Bounds connections, in all and per client. One beyond the bound is refused before any byte of it is read. */
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
  /** Proxies: their connections carry many clients and are not bounded per client. */
  trustedProxies: Pick<AddressSet, 'has'>
}

/** The most connections that get a refusal at the same time; others are closed without an answer. */
const REFUSED_AT_ONCE = 100

export function boundConnections(server: Server, limits: ConnectionLimits): void {
  let taken = 0
  /** By network. */
  const byClient = new PerClient()

  const problemOf = (client: string | undefined): GatewayError | undefined => {
    if (taken >= limits.maxConnections) {
      const message = 'The gateway has too many connections; try again in a moment.'
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
  // Without this, workers that are all full pass a connection to each other for ever.
  Object.assign(server, { dropMaxConnection: true })
  // Node's own listener starts reading, so it gets accepted connections only.
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
      // Without this, unread bytes reset the connection and the client loses the refusal.
      socket.resume()
      answerBare(socket, problem)
    }
  })
}

/** Undefined for connections that no bound per client applies to. */
function boundClientOf({ remoteAddress }: Socket, limits: ConnectionLimits): string | undefined {
  if (limits.maxConnectionsPerClient === 0 || remoteAddress === undefined) return undefined
  return limits.trustedProxies.has(remoteAddress) ? undefined : networkOf(remoteAddress)
}
