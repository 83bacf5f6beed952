import type { Fields } from '../../../core/json/value.ts'

/** Collects `reasoning_details`, which arrive in fragments. */

/** Texts to append. The last value of any other field counts. */
const GROWING = ['text', 'summary']

/** Adds the fragments to the entries of the same type and index. Changes `details`. */
export function addDetails(details: Fields[], fragments: Fields[]): void {
  for (const fragment of fragments) {
    const entry = details.findLast(
      (d) => d.type === fragment.type && d.index === fragment.index && isSame(d.id, fragment.id),
    )
    if (entry === undefined || fragment.type === 'reasoning.encrypted') {
      details.push({ ...fragment })
      continue
    }
    for (const [key, value] of Object.entries(fragment)) {
      // Assigning it would change the prototype of the entry.
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
