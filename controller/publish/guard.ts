/**
 * Holds back removals that look like a mistake: more than half of what is stored, and at least ten, gone at once
 * after everything was read anew. A restored or an emptied API server looks like that. What people delete one by one
 * passes.
 */
const MANY = 10

export function isMassRemoval(stored: number, removed: number): boolean {
  return removed >= MANY && removed * 2 > stored
}

/** Guards the records of one kind. */
export class RemovalGuard {
  #held = new Set<string>()

  /** Ids that stay although nothing names them any more. */
  get held(): number {
    return this.#held.size
  }

  /** The ids of `removed` that may go. `anew`: everything was read anew, so absence proves little. */
  allow(removed: readonly string[], stored: number, anew: boolean): string[] {
    const gone = new Set(removed)
    for (const id of this.#held) if (!gone.has(id)) this.#held.delete(id)
    const others = removed.filter((id) => !this.#held.has(id))
    if (!anew || !isMassRemoval(stored, others.length)) return others
    for (const id of others) this.#held.add(id)
    return []
  }
}
