/** The WebSockets of a process. */

import type { IncomingMessage } from 'node:http'
import { WebSocketServer } from 'ws'
import type { Cancellation } from '../../kit/cancel.ts'
import { GatewayError } from '../errors.ts'
import { Connection, type SocketParts } from './connection.ts'
import { IntakePool } from './intake.ts'

export class Sockets {
  readonly #parts: SocketParts
  readonly #server: WebSocketServer
  readonly #intake: IntakePool
  readonly #connections = new Set<Connection>()
  #leaving = false
  #over = false

  constructor(parts: SocketParts) {
    const { maxMessageBytes, maxFragments, maxPendingPongs, closeMs } = parts.limits
    this.#parts = parts
    this.#intake = new IntakePool(parts.limits.maxHeldBytes)
    const options = {
      noServer: true,
      clientTracking: false,
      maxPayload: maxMessageBytes,
      maxFragments,
      maxPendingAutoPongs: maxPendingPongs,
      closeTimeout: closeMs,
      perMessageDeflate: false,
      // There is no subprotocol, so none is chosen.
      handleProtocols: () => false as const,
    }
    this.#server = new WebSocketServer(options)
    // Without a listener ws answers with a message of its own, and the refusal is not logged.
    this.#server.on('wsClientError', () => {
      throw new GatewayError('invalid_request', 'This is not a valid WebSocket handshake.')
    })
  }

  get size(): number {
    return this.#connections.size
  }

  /**
   * Finishes the handshake of a request that the HTTP server has let go of. Throws GatewayError invalid_request for an
   * invalid one, and leaves the connection to the caller. `revoked` is aborted when the key is revoked.
   */
  accept(req: IncomingMessage, head: Buffer, revoked: Cancellation): void {
    this.#server.handleUpgrade(req, req.socket, head, (ws) => {
      const parts = { ...this.#parts, intake: this.#intake, revoked }
      const connection = new Connection(ws, req, parts, () => this.#connections.delete(connection))
      this.#connections.add(connection)
      // The handshake began before leave() or terminate().
      if (this.#over) connection.terminate()
      else if (this.#leaving) connection.leave()
    })
  }

  /** Closes each socket as soon as its calls have ended, and takes no new ones. */
  leave(): void {
    this.#leaving = true
    for (const connection of this.#connections) connection.leave()
  }

  /** Cuts off all sockets, also those whose handshakes are not over yet. */
  terminate(): void {
    this.#over = true
    for (const connection of this.#connections) connection.terminate()
  }
}
