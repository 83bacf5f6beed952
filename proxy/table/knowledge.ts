/** Up to which publication this proxy knows the store's records, and how fresh that knowledge is. */
import type { Position } from '../../store/contract.ts'

/** A stretch of time without missed changes: a record that was read in it was valid until `until` at least. */
export interface Stretch {
  until: number
}

/**
 * current: the store's records count. behind: the store has less than has been in force here, because it was emptied or
 * restored from a copy, so neither its records nor their absence count. away: the store did not answer.
 */
export type Standing = 'current' | 'behind' | 'away'

/** A query for the store's position, with the state at that time. */
export interface PositionQuery {
  at: number
  taken: Position
  stretch: Stretch
}

export class Knowledge {
  #stretch: Stretch = { until: 0 }
  #taken: Position = { epoch: 0, generation: 0 }
  #verifiedAt: number
  #standing: Standing | undefined
  #awaited = Promise.withResolvers<Standing>()
  readonly #now: () => number

  /** `now` in milliseconds, monotonic. */
  constructor(now: () => number) {
    this.#now = now
    this.#verifiedAt = now()
  }

  get stretch(): Stretch {
    return this.#stretch
  }

  /** The newest publication whose changes are known here. */
  get taken(): Position {
    return this.#taken
  }

  /** When the store was last known to have nothing newer. */
  get verifiedAt(): number {
    return this.#verifiedAt
  }

  /** The standing since the last gap; after a gap it waits for the store's position. */
  async standing(): Promise<Standing> {
    return this.#standing ?? this.#awaited.promise
  }

  /** Changes may have been missed: records that were read so far may be outdated. */
  gap(): void {
    this.#stretch = { until: 0 }
    if (this.#standing === undefined) return
    this.#standing = undefined
    this.#awaited = Promise.withResolvers()
  }

  away(): void {
    this.#settle('away')
  }

  query(): PositionQuery {
    return { at: this.#now(), taken: this.#taken, stretch: this.#stretch }
  }

  /**
   * Takes the answer to a query. `moved`: another leader has published, and its publication must be read first; `ahead`: a
   * change is on its way.
   */
  learn(position: Position, query: PositionQuery): 'same' | 'behind' | 'ahead' | 'moved' {
    if (isBehind(position, query.taken)) {
      this.#settle('behind')
      return 'behind'
    }
    this.#settle('current')
    if (position.generation !== query.taken.generation)
      return position.epoch === query.taken.epoch ? 'ahead' : 'moved'
    // A new leader had nothing to publish.
    if (this.#taken.generation === position.generation) this.#taken = position
    this.verify(query)
    return 'same'
  }

  /** Nothing newer had been published at the time of this query. */
  verify({ at, stretch }: PositionQuery): void {
    stretch.until = at
    this.#verifiedAt = at
  }

  /**
   * The changes of this publication, and of all before it, are known. A store that was behind counts again: without this,
   * records that the publication names would be refused until the next heartbeat.
   */
  take(position: Position): void {
    if (this.#standing === 'behind' && !isBehind(position, this.#taken)) this.#settle('current')
    this.#taken = newest(this.#taken, position)
  }

  #settle(standing: Standing): void {
    this.#standing = standing
    this.#awaited.resolve(standing)
  }
}

/** Generations rise over all epochs: a lower epoch with a higher generation means that the store began anew. */
function isBehind({ epoch, generation }: Position, taken: Position): boolean {
  if (generation === 0) return true
  if (epoch === taken.epoch) return generation < taken.generation
  return epoch < taken.epoch && generation <= taken.generation
}

export function newest(a: Position, { epoch, generation }: Position): Position {
  return epoch > a.epoch || generation > a.generation ? { epoch, generation } : a
}
