/**
 * Settles that the store has lately acknowledged: a server that is lost may take them with it. They are kept as JSON
 * in memory outside of V8's heap. As objects, 0.5 kB each, they made V8 collect its whole heap each 5 s under load: 5 % of the CPU.
 */
import { deflateRawSync, inflateRawSync } from 'node:zlib'
import type { Settle } from '../../store/ledger/contract.ts'

/** How long before its loss a server may have acknowledged what it takes with it. */
const KEEP_MS = 60_000
const MOST = 50_000
/** Settles are packed and forgotten by the group. */
const MOST_IN_GROUP = 100
const GROUP_MS = 1_000
/** Memory of forgotten groups that waits for the next groups: V8 counts the bytes of new ones as growth, too. */
const MOST_SPARE = 4
/** Sizes are rounded up, so that spare memory fits most groups. */
const MEMORY_STEP = 16_384
/**
 * Without a settle for so long, the kept ones are compressed, a group at a time: 14 MB after a load become 2. None is forgotten
 * by the clock, because it goes on while the store is away.
 */
const QUIET_MS = 10_000
const COMPRESS_EVERY_MS = 10
/** Of most groups, at most. zlib's 16 kB would be left to the collector for each. */
const COMPRESSED_BYTES = 4_096

interface Group {
  /** performance.now() of the first one. */
  began: number
  /** In settles. */
  size: number
  /** Resizable: the kernel has back at once what it gives up. malloc would keep it, 14 MB after a load. */
  memory: ArrayBuffer
  /** The JSON fills the memory up to here. */
  end: number
  isCompressed: boolean
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
  readonly #spare: ArrayBuffer[] = []
  /** performance.now() of the last one. */
  #last = 0
  #timer: NodeJS.Timeout | undefined

  /** Keeps it for a minute at least, or until 50,000 newer ones have followed. */
  add(settle: Settle): void {
    const now = performance.now()
    if (this.#newest.length === MOST_IN_GROUP || now - this.#began >= GROUP_MS) this.#startGroup(now)
    this.#newest.push(settle)
    this.#last = now
    this.#timer ??= this.#compressIn(QUIET_MS)
  }

  /** Oldest first, each with a time at which it was not yet acknowledged, by performance.now(), at most a second before. */
  *[Symbol.iterator](): Generator<[Settle, at: number]> {
    for (const { began, memory, end, isCompressed } of this.#groups) {
      const bytes = Buffer.from(memory, 0, end)
      const settles: Settle[] = JSON.parse((isCompressed ? inflateRawSync(bytes) : bytes).toString())
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
    const memory = this.#memoryFor(Buffer.byteLength(json))
    const size = this.#newest.length
    const end = Buffer.from(memory).write(json)
    this.#groups.push({ began: this.#began, size, memory, end, isCompressed: false })
    this.#grouped += size
  }

  #memoryFor(bytes: number): ArrayBuffer {
    const spare = this.#spare.pop()
    if (spare !== undefined && spare.byteLength >= bytes) return spare
    spare?.resize(0)
    return newMemory(Math.ceil(bytes / MEMORY_STEP) * MEMORY_STEP)
  }

  #forgetOld(now: number): void {
    for (;;) {
      const [oldest] = this.#groups
      if (oldest === undefined) return
      const isOver = this.#grouped - oldest.size >= MOST
      if (now - oldest.began < KEEP_MS + GROUP_MS && !isOver) return
      this.#groups.shift()
      this.#grouped -= oldest.size
      if (this.#spare.length < MOST_SPARE) this.#spare.push(oldest.memory)
      else oldest.memory.resize(0)
    }
  }

  #compressIn(waitMs: number): NodeJS.Timeout {
    return setTimeout(() => {
      const quietMs = performance.now() - this.#last
      if (quietMs < QUIET_MS) this.#timer = this.#compressIn(QUIET_MS - quietMs)
      else this.#timer = this.#compressOne() ? this.#compressIn(COMPRESS_EVERY_MS) : undefined
    }, waitMs).unref()
  }

  /** False if all are compressed. */
  #compressOne(): boolean {
    for (const memory of this.#spare.splice(0)) memory.resize(0)
    const group = this.#groups.find(({ isCompressed }) => !isCompressed)
    if (group === undefined) return false
    const { memory, end } = group
    const bytes = deflateRawSync(Buffer.from(memory, 0, end), { chunkSize: COMPRESSED_BYTES })
    memory.resize(0)
    group.memory = newMemory(bytes.length)
    Buffer.from(group.memory).set(bytes)
    group.end = bytes.length
    group.isCompressed = true
    return true
  }
}

function newMemory(bytes: number): ArrayBuffer {
  return new ArrayBuffer(bytes, { maxByteLength: bytes })
}
