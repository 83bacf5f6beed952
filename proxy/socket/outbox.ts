/** Sends messages on one socket, and knows how many bytes the client has not read yet. */
import type { Duplex } from 'node:stream'
import type { WebSocket } from 'ws'
import type { SocketLimits } from './limits.ts'

type OutboxLimits = Pick<SocketLimits, 'highWaterBytes' | 'maxUnsentBytes'>

interface OutboxEvents {
  /** The client has fallen behind, or caught up. */
  changed(): void
  /** The client is so far behind that the socket must end. */
  overrun(): void
}

export class Outbox {
  readonly #ws: WebSocket
  readonly #socket: Pick<Duplex, 'cork' | 'uncork'>
  readonly #limits: OutboxLimits
  readonly #events: OutboxEvents
  /** Writers that wait for the client, the longest first. */
  readonly #waiting: (() => void)[] = []
  #flowing = true
  #closed = false

  /** `socket`: the one below `ws`. */
  constructor(
    ws: WebSocket,
    socket: Pick<Duplex, 'cork' | 'uncork'>,
    limits: OutboxLimits,
    events: OutboxEvents,
  ) {
    this.#ws = ws
    this.#socket = socket
    this.#limits = limits
    this.#events = events
  }

  /** False: writers that can wait must wait. */
  get flowing(): boolean {
    return this.#closed || this.#ws.bufferedAmount < this.#limits.highWaterBytes
  }

  /** Sends nothing more. */
  get closed(): boolean {
    return this.#closed
  }

  send(text: string): void {
    if (this.#closed) return
    if (this.#ws.bufferedAmount > this.#limits.maxUnsentBytes) {
      this.#events.overrun()
      return
    }
    this.#ws.send(text, this.#sent)
    this.#look()
  }

  /** Messages that `send` sends go to the kernel in one write: a write of its own costs more than a message. */
  together(send: () => void): void {
    this.#socket.cork()
    try {
      send()
    } finally {
      this.#socket.uncork()
    }
  }

  /** Calls `resume` once when the client has caught up or left. */
  wait(resume: () => void): void {
    this.#waiting.push(resume)
  }

  close(): void {
    this.#closed = true
    for (const resume of this.#waiting.splice(0)) resume()
  }

  readonly #sent = (): void => {
    this.#look()
    // Each of them may fill the outbox again.
    while (this.flowing) {
      const resume = this.#waiting.shift()
      if (resume === undefined) return
      resume()
    }
  }

  #look(): void {
    if (this.flowing === this.#flowing) return
    this.#flowing = this.flowing
    this.#events.changed()
  }
}
