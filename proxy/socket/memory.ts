/**
 * The answers that a connection remembers, for conversations that are not in the store. An exchange is kept once, however
 * many answers continue it, and is dropped when no remembered answer needs it.
 */
import { BytePool, type Holder } from '../../kit/byte-pool.ts'
import type { ConnectionMemory } from '../pipeline/call.ts'
import type { StreamName } from './frames.ts'
import type { SocketLimits } from './limits.ts'

export type MemoryLimits = Pick<SocketLimits, 'maxAnswers' | 'maxAnswerBytes'>

/** Bounds the memory of all connections of a process: the largest gives way. */
export class MemoryPool extends BytePool<SocketMemory> {}

interface Exchange {
  id: string
  parent: Exchange | undefined
  items: readonly string[]
  bytes: number
  /** Number of exchanges that continue this one, plus one while its answer is remembered. */
  refs: number
}

interface Answer {
  stream: StreamName
  exchange: Exchange
}

/** Bytes that an item takes besides its text. */
const ITEM_BYTES = 64

export class SocketMemory implements Holder {
  readonly #limits: MemoryLimits
  readonly #pool: MemoryPool
  /** By id, the oldest first. */
  readonly #answers = new Map<string, Answer>()
  /** The newest answer of each stream. */
  readonly #latest = new Map<StreamName, string>()
  bytes = 0
  #closed = false

  constructor(limits: MemoryLimits, pool: MemoryPool) {
    this.#limits = limits
    this.#pool = pool
    pool.add(this)
  }

  get answers(): number {
    return this.#answers.size
  }

  /** The memory for one call of a stream: the answer that it continues stays available until the call is over. */
  of(stream: StreamName): ConnectionMemory {
    let from: Exchange | undefined
    return {
      history: (id) => {
        from = this.#answers.get(id)?.exchange
        return from && itemsOf(from)
      },
      remember: (id, parent, items) => {
        const exchange = parent === from?.id ? from : parent && this.#answers.get(parent)?.exchange
        // A conversation whose beginning is gone cannot be continued.
        if (parent !== undefined && !exchange) return
        this.#add(stream, id, exchange || undefined, items)
      },
    }
  }

  /** A call of `stream` that continued `parent` has failed: forgets that answer if the same stream made it. */
  failed(stream: StreamName, parent: string): void {
    const answer = this.#answers.get(parent)
    if (answer !== undefined && answer.stream === stream) this.#forget(parent, answer)
  }

  /** Ends the memory with its connection: calls that still run remember nothing more. */
  clear(): void {
    this.#closed = true
    for (const [id, answer] of this.#answers) this.#forget(id, answer)
    this.#pool.remove(this)
  }

  /** Forgets the oldest answer; the newest one of each stream only when there are no others. */
  giveWay(): void {
    const answers = [...this.#answers]
    const spared = ([id, { stream }]: [string, Answer]) => this.#latest.get(stream) === id
    const oldest = answers.find((answer) => !spared(answer)) ?? answers[0]
    if (oldest !== undefined) this.#forget(...oldest)
  }

  #add(stream: StreamName, id: string, parent: Exchange | undefined, items: readonly string[]): void {
    if (this.#closed) return
    const known = this.#answers.get(id)
    const exchange: Exchange = { id, parent, items, bytes: sizeOf(items), refs: 0 }
    this.#retain(exchange)
    if (known !== undefined) this.#forget(id, known)
    this.#answers.set(id, { stream, exchange })
    this.#latest.set(stream, id)
    const { maxAnswers, maxAnswerBytes } = this.#limits
    while (this.#answers.size > maxAnswers || this.bytes > maxAnswerBytes) this.giveWay()
    this.#pool.shrink()
  }

  #forget(id: string, { stream, exchange }: Answer): void {
    this.#answers.delete(id)
    if (this.#latest.get(stream) === id) this.#latest.delete(stream)
    this.#release(exchange)
  }

  #retain(exchange: Exchange): void {
    for (let e: Exchange | undefined = exchange; e !== undefined && e.refs++ === 0; e = e.parent)
      this.#count(e.bytes)
  }

  #release(exchange: Exchange): void {
    for (let e: Exchange | undefined = exchange; e !== undefined && --e.refs === 0; e = e.parent)
      this.#count(-e.bytes)
  }

  #count(bytes: number): void {
    this.bytes += bytes
    this.#pool.count(bytes)
  }
}

function itemsOf(exchange: Exchange): string[] {
  const exchanges: Exchange[] = []
  for (let e: Exchange | undefined = exchange; e !== undefined; e = e.parent) exchanges.push(e)
  return exchanges.reverse().flatMap(({ items }) => items)
}

function sizeOf(items: readonly string[]): number {
  return items.reduce((sum, item) => sum + Buffer.byteLength(item) + ITEM_BYTES, 0)
}
