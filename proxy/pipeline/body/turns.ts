/**
 * Parses only a few large bodies of one client at a time, in the order of their arrival. Without this, a client that sends
 * many would keep all threads and half of the memory.
 */

import type { Cancellation } from '../../../kit/cancel.ts'

interface Client {
  parsing: number
  waiting: (() => void)[]
}

export class BodyTurns {
  readonly #most: number
  readonly #now: () => number
  readonly #clients = new Map<string, Client>()

  /** `most`: large bodies of one client that are parsed at a time. `now` in milliseconds, monotonic. */
  constructor(most: number, now: () => number) {
    this.#most = most
    this.#now = now
  }

  /** Calls `parse` when it is the turn of this large body. Rejects with the signal's reason if it aborts first. */
  async take<R>(client: string, signal: Cancellation, parse: () => Promise<R>): Promise<R> {
    await this.#enter(client, signal)
    let took = 0
    try {
      // Requests that arrived meanwhile are served first.
      await new Promise(setImmediate)
      signal.throwIfAborted()
      const from = this.#now()
      try {
        return await parse()
      } finally {
        took = this.#now() - from
      }
    } finally {
      // All turns of a client together leave half of the time to others.
      setTimeout(() => this.#leave(client), took * (2 * this.#most - 1)).unref()
    }
  }

  /** Clients that parse or wait. */
  get size(): number {
    return this.#clients.size
  }

  #enter(name: string, signal: Cancellation): Promise<void> | undefined {
    signal.throwIfAborted()
    const client = this.#clients.get(name) ?? { parsing: 0, waiting: [] }
    this.#clients.set(name, client)
    if (client.parsing < this.#most) {
      client.parsing++
      return undefined
    }
    return new Promise((resolve, reject) => {
      const go = () => {
        signal.removeEventListener('abort', stop)
        resolve()
      }
      const stop = () => {
        client.waiting = client.waiting.filter((each) => each !== go)
        reject(signal.reason)
      }
      client.waiting.push(go)
      signal.addEventListener('abort', stop)
    })
  }

  /** Gives the turn to the body that has waited longest. */
  #leave(name: string): void {
    const client = this.#clients.get(name)
    if (client === undefined) return
    const next = client.waiting.shift()
    if (next !== undefined) next()
    else if (--client.parsing === 0) this.#clients.delete(name)
  }
}
