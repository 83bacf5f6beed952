/**
 * Settles that the store has lately acknowledged: a server that is lost may take them with it. They are kept as JSON
 * in buffers. As objects, 0.5 kB each, they made V8 collect its whole heap each 5 s under load: 5 % of the CPU.
 */
import type { Settle } from '../../store/ledger/contract.ts'

/** How long before its loss a server may have acknowledged what it takes with it. */
const KEEP_MS = 60_000
const MOST = 50_000
/** Settles are packed and forgotten by the group. */
const MOST_IN_GROUP = 100
const GROUP_MS = 1_000
/** Buffers of forgotten groups that wait for the next groups: V8 counts the bytes of new ones as growth, too. */
const MOST_SPARE = 4
/** Sizes are rounded up, so that a spare buffer fits most groups. */
const BUFFER_STEP = 16_384

interface Group {
  /** performance.now() of the first one. */
  began: number
  /** In settles. */
  size: number
  buffer: Buffer
  /** The JSON fills the buffer up to here. */
  end: number
}

export class RecentSettles {
  /** Oldest first. */
  readonly #groups: Group[] = []
  /** In settles. */
  #grouped = 0
  /** Newer than every group. */
  #newest: Settle[] = []
  /** performance.now() of the first of the newest. */
  #began = 0
  readonly #spare: Buffer[] = []

  /** Keeps it for a minute at least, or until 50,000 newer ones have followed. */
  add(settle: Settle): void {
    const now = performance.now()
    if (this.#newest.length === MOST_IN_GROUP || now - this.#began >= GROUP_MS) this.#startGroup(now)
    this.#newest.push(settle)
  }

  /** Oldest first, each with a time at which it was not yet acknowledged, by performance.now(), at most a second before. */
  *[Symbol.iterator](): Generator<[Settle, at: number]> {
    for (const { began, buffer, end } of this.#groups) {
      const settles: Settle[] = JSON.parse(buffer.toString('utf8', 0, end))
      for (const settle of settles) yield [settle, began]
    }
    for (const settle of this.#newest) yield [settle, this.#began]
  }

  #startGroup(now: number): void {
    if (this.#newest.length > 0) this.#pack()
    this.#newest = []
    this.#began = now
    this.#forgetOld(now)
  }

  #pack(): void {
    const json = JSON.stringify(this.#newest)
    const buffer = this.#bufferOf(Buffer.byteLength(json))
    const size = this.#newest.length
    this.#groups.push({ began: this.#began, size, buffer, end: buffer.write(json) })
    this.#grouped += size
  }

  #bufferOf(bytes: number): Buffer {
    const spare = this.#spare.pop()
    if (spare !== undefined && spare.length >= bytes) return spare
    return Buffer.allocUnsafeSlow(Math.ceil(bytes / BUFFER_STEP) * BUFFER_STEP)
  }

  #forgetOld(now: number): void {
    for (;;) {
      const [oldest] = this.#groups
      if (oldest === undefined) return
      const isOver = this.#grouped - oldest.size >= MOST
      if (now - oldest.began < KEEP_MS + GROUP_MS && !isOver) return
      this.#groups.shift()
      this.#grouped -= oldest.size
      if (this.#spare.length < MOST_SPARE) this.#spare.push(oldest.buffer)
    }
  }
}
