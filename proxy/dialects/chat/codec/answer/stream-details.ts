import type { Fields } from '../../../core/json/value.ts'

/** Collects `reasoning_details`, which come in pieces. */

/** Texts that grow from piece to piece; all other fields are of the last piece that has them. */
const GROWING = ['text', 'summary']

/** Adds the pieces to the entries that they go on with: those of the same type and index. `details` is changed. */
export function addDetails(details: Fields[], pieces: Fields[]): void {
  for (const piece of pieces) {
    const entry = details.findLast(
      (d) => d.type === piece.type && d.index === piece.index && isSame(d.id, piece.id),
    )
    if (entry === undefined || piece.type === 'reasoning.encrypted') {
      details.push({ ...piece })
      continue
    }
    for (const [key, value] of Object.entries(piece)) {
      // It would change the entry, not a field of it.
      if (key === '__proto__') continue
      if (value === null || value === undefined) continue
      const before = entry[key]
      const grows = GROWING.includes(key) && typeof before === 'string' && typeof value === 'string'
      entry[key] = grows ? before + value : value
    }
  }
}

function isSame(a: unknown, b: unknown): boolean {
  return a === b || a === undefined || a === null || b === undefined || b === null
}
