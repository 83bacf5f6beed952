/** The difference between stored records and those that should be stored. */
import type { RecordChanges } from '../../store/contract.ts'
import { digest } from '../../store/digest.ts'

/** Records to write, ids to remove, and the digests of the records to write. */
interface Difference<R> {
  changes: RecordChanges<R>
  digests: Map<string, string>
}

/** Compares the records in `touched` (undefined: to be removed); without it everything, and removes what `wanted` lacks. */
export function difference<R extends object>(
  stored: ReadonlyMap<string, string>,
  wanted: ReadonlyMap<string, R>,
  touched?: ReadonlyMap<string, R | undefined>,
): Difference<R> {
  const put = new Map<string, R>()
  const remove = touched === undefined ? [...stored.keys()].filter((id) => !wanted.has(id)) : []
  const digests = new Map<string, string>()
  for (const [id, record] of touched ?? wanted) {
    if (record === undefined) {
      if (stored.has(id)) remove.push(id)
      continue
    }
    const hash = digestOf(record)
    if (stored.get(id) === hash) continue
    put.set(id, record)
    digests.set(id, hash)
  }
  return { changes: { put, remove }, digests }
}

/** Digests by record: compile returns the same object as long as a record does not change. */
const digests = new WeakMap<object, string>()

function digestOf(record: object): string {
  const known = digests.get(record)
  if (known !== undefined) return known
  const hash = digest(record)
  digests.set(record, hash)
  return hash
}

/** Computes the digests of these records in advance. */
export function warm(records: Iterable<object | undefined>): void {
  for (const record of records) if (record !== undefined) digestOf(record)
}

export function isEmpty({ put, remove }: RecordChanges<unknown>): boolean {
  return put.size === 0 && remove.length === 0
}
