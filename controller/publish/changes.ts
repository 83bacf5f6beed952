/** What differs between the records that are stored and those that should be. */
import type { RecordChanges } from '../../store/contract.ts'
import { digest } from '../../store/digest.ts'

/** Records to write and ids to remove, and the digests that are stored once that is done. */
export interface Difference<R> {
  changes: RecordChanges<R>
  digests: Map<string, string>
}

export function difference<R extends object>(
  stored: ReadonlyMap<string, string>,
  wanted: ReadonlyMap<string, R>,
): Difference<R> {
  const put = new Map<string, R>()
  const digests = new Map<string, string>()
  for (const [id, record] of wanted) {
    const hash = digestOf(record)
    digests.set(id, hash)
    if (stored.get(id) !== hash) put.set(id, record)
  }
  return { changes: { put, remove: [...stored.keys()].filter((id) => !wanted.has(id)) }, digests }
}

/** By record: compile hands out the same object while a record says the same, and most do. */
const digests = new WeakMap<object, string>()

function digestOf(record: object): string {
  const known = digests.get(record)
  if (known !== undefined) return known
  const hash = digest(record)
  digests.set(record, hash)
  return hash
}

export function isEmpty({ put, remove }: RecordChanges<unknown>): boolean {
  return put.size === 0 && remove.length === 0
}
