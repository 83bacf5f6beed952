/**
 * Tells people when most of the keys or routes have gone within a moment. They are gone all the same: what a complete
 * list lacks is no longer served.
 */
import type { Removal } from '../snapshot.ts'

/** A deletion of many arrives piece by piece: it is over when nothing more went for so long. */
const QUIET_MS = 1_000
/** Namespaces that are named. */
const MOST_NAMED = 20

export interface Counts {
  keys: number
  routes: number
}

export interface RemovalOptions {
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

  /** Takes the counts before and after a publication, and the namespaces that have lost something by it. */
  published(before: Counts, after: Counts, namespaces: Iterable<string>): void {
    const fewer = after.keys < before.keys || after.routes < before.routes
    if (!fewer && this.#before === undefined) return
    this.#before ??= before
    this.#after = after
    for (const namespace of namespaces) this.#namespaces.add(namespace)
    if (!fewer) return
    clearTimeout(this.#timer)
    this.#timer = setTimeout(() => this.#tell(), QUIET_MS)
  }

  /** Reports a removal that is still pending. */
  stop(): void {
    clearTimeout(this.#timer)
    this.#tell()
  }

  #tell(): void {
    const before = this.#before
    if (before === undefined) return
    this.#before = undefined
    const namespaces = [...this.#namespaces].sort().slice(0, MOST_NAMED)
    this.#namespaces.clear()
    const lost = (['keys', 'routes'] as const).filter((what) => before[what] > this.#after[what])
    if (!lost.some((what) => (before[what] - this.#after[what]) * 2 > before[what])) return
    const counts = lost.map((what) => `${before[what] - this.#after[what]} of ${before[what]} ${what}`)
    const message = `${counts.join(' and ')} are gone at once, because the resources were deleted or no longer give any`
    this.#options.onRemoval({ at: this.#options.now(), message, namespaces })
  }
}
