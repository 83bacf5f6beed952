/** Settles that the store has lately acknowledged: a server that is lost may take them with it. */
import type { Settle } from '../../store/ledger/contract.ts'

/** How long before its loss a server may have acknowledged what it takes with it. */
const KEEP_MS = 60_000
const MOST = 50_000
/** Settles are forgotten by the group. A Map that forgets them one by one steps over its holes: 6 µs a request. */
const MOST_IN_GROUP = 500
const GROUP_MS = 1_000

interface Group {
  /** performance.now() of the first one. */
  began: number
  settles: Settle[]
}

export class RecentSettles {
  /** Oldest first. */
  readonly #groups: Group[] = []
  #size = 0

  /** Keeps it for a minute at least, or until 50,000 newer ones have followed. */
  add(settle: Settle): void {
    const now = performance.now()
    const newest = this.#groups.at(-1)
    if (newest && newest.settles.length < MOST_IN_GROUP && now - newest.began < GROUP_MS)
      newest.settles.push(settle)
    else {
      this.#forgetOld(now)
      this.#groups.push({ began: now, settles: [settle] })
    }
    this.#size += 1
  }

  /** Oldest first, each with a time at which it was not yet acknowledged, by performance.now(), at most a second before. */
  *[Symbol.iterator](): Generator<[Settle, at: number]> {
    for (const { began, settles } of this.#groups) for (const settle of settles) yield [settle, began]
  }

  #forgetOld(now: number): void {
    for (;;) {
      const [oldest] = this.#groups
      if (oldest === undefined) return
      const isOver = this.#size - oldest.settles.length >= MOST
      if (now - oldest.began < KEEP_MS + GROUP_MS && !isOver) return
      this.#groups.shift()
      this.#size -= oldest.settles.length
    }
  }
}
