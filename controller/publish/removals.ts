/**
 * Reports when most of the keys or routes were removed at once. This only informs: resources that are missing in a
 * complete list are no longer served.
 */
import type { Removal } from '../snapshot.ts'

/** A deletion of many resources arrives in pieces; it is over when nothing was removed for this long. */
const QUIET_MS = 1_000
/** Maximum number of namespaces to name. */
const MOST_NAMED = 20

interface Counts {
  keys: number
  routes: number
}

interface RemovalOptions {
  /** Milliseconds since the epoch. */
  now: () => number
  onRemoval: (removal: Removal) => void
}

export class Removals {
  readonly #options: RemovalOptions
  #before: Counts | undefined
  #after: Counts = { keys: 0, routes: 0 }
  readonly #namespaces = new Set<string>()
  #timer: NodeJS.Timeout | undefined

  constructor(options: RemovalOptions) {
    this.#options = options
  }

  /** Takes the counts before and after a publication, and the namespaces that lost keys or routes. */
  published(before: Counts, after: Counts, namespaces: Iterable<string>): void {
    const fewer = after.keys < before.keys || after.routes < before.routes
    if (!fewer && this.#before === undefined) return
    this.#before ??= before
    this.#after = after
    for (const namespace of namespaces) this.#namespaces.add(namespace)
    if (!fewer) return
    clearTimeout(this.#timer)
    this.#timer = setTimeout(() => this.#report(), QUIET_MS)
  }

  /** Reports a pending removal at once. */
  stop(): void {
    clearTimeout(this.#timer)
    this.#report()
  }

  #report(): void {
    const before = this.#before
    if (before === undefined) return
    this.#before = undefined
    const namespaces = [...this.#namespaces].sort().slice(0, MOST_NAMED)
    this.#namespaces.clear()
    const lost = (['keys', 'routes'] as const).filter((what) => before[what] > this.#after[what])
    if (!lost.some((what) => (before[what] - this.#after[what]) * 2 > before[what])) return
    const counts = lost.map((what) => `${before[what] - this.#after[what]} of ${before[what]} ${what}`)
    const message = `${counts.join(' and ')} were removed at once, because their resources were deleted or are no longer in force`
    this.#options.onRemoval({ at: this.#options.now(), message, namespaces })
  }
}
