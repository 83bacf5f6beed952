/** Follows the announcements of publications on its own connection, and reports when it may have missed one. */
import { setTimeout as delay } from 'node:timers/promises'
import type { Log } from '../../contract/log.ts'
import { type Change, type Gap, StoreUnavailable } from '../contract.ts'
import { CHANGES } from '../keys.ts'
import { announcements, nextAnnouncements } from './config-replies.ts'
import type { RedisConnection } from './connection.ts'

/** How long XREAD blocks; after that, the follower checks whether the stream is still the same. */
const BLOCK_MS = 1_000
const ANSWER_MS = BLOCK_MS + 500
const RETRY_MS = 100
const AT_ONCE = 1_000

/** Position of a follower in the stream. */
interface Place {
  id: string
  generation: number
}

const START: Place = { id: '0-0', generation: 0 }

export class ChangeFollower {
  readonly #connection: RedisConnection
  readonly #listener: (change: Change | Gap) => void
  readonly #log: Log
  /** Undefined: unknown, so that changes may have been missed. */
  #place: Place | undefined
  #stopped = false

  /** Becomes the owner of the connection and closes it. */
  constructor(connection: RedisConnection, listener: (change: Change | Gap) => void, log: Log) {
    this.#connection = connection
    this.#listener = listener
    this.#log = log
  }

  /** From now on, no change is missed without a Gap, even if the server is unreachable. */
  async start(): Promise<void> {
    try {
      this.#place = await this.#newest()
    } catch (error) {
      this.#logUnexpected(error)
    }
    void this.#run()
  }

  async stop(): Promise<void> {
    this.#stopped = true
    await this.#connection.close()
  }

  async #run(): Promise<void> {
    while (!this.#stopped) {
      try {
        await this.#step()
      } catch (error) {
        this.#place = undefined
        if (this.#stopped) return
        this.#logUnexpected(error)
        await delay(RETRY_MS, undefined, { ref: false })
      }
    }
  }

  async #step(): Promise<void> {
    if (this.#place === undefined) {
      this.#place = await this.#newest()
      this.#notify({ gap: true })
    }
    const command = [
      'XREAD',
      'COUNT',
      AT_ONCE,
      'BLOCK',
      BLOCK_MS,
      'STREAMS',
      CHANGES,
      this.#place.id,
    ] as const
    const next = nextAnnouncements.parse(await this.#connection.command(command, ANSWER_MS))
    for (const { id, before, generation, change } of next) {
      const missed = before !== this.#place.generation
      this.#place = { id, generation }
      this.#notify(missed ? { gap: true } : change)
    }
    if (next.length > 0) return
    const newest = await this.#newest()
    // The stream ends before our position or differs there: it was wiped or replaced.
    const { id, generation } = this.#place
    if (isBefore(newest.id, id) || (newest.id === id && !Object.is(newest.generation, generation))) {
      this.#place = newest
      this.#notify({ gap: true })
    }
  }

  async #newest(): Promise<Place> {
    const [newest = START] = announcements.parse(
      await this.#connection.command(['XREVRANGE', CHANGES, '+', '-', 'COUNT', 1]),
    )
    return { id: newest.id, generation: newest.generation }
  }

  #notify(change: Change | Gap): void {
    if (this.#stopped) return
    try {
      this.#listener(change)
    } catch (error) {
      this.#log.error({ err: error }, 'a listener for changes in the store failed')
    }
  }

  #logUnexpected(error: unknown): void {
    // The connection itself logs that the server is unreachable.
    if (!(error instanceof StoreUnavailable))
      this.#log.error({ err: error }, 'cannot follow changes in the store')
  }
}

/** True if the entry id `a`, `<ms>-<number>`, is older than `b`. */
function isBefore(a: string, b: string): boolean {
  const [ms, seq] = a.split('-').map(Number)
  const [otherMs, otherSeq] = b.split('-').map(Number)
  if (ms === undefined || otherMs === undefined) return false
  return ms < otherMs || (ms === otherMs && (seq ?? 0) < (otherSeq ?? 0))
}
