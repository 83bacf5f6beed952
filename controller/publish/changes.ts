/** The difference between stored records and those that should be stored. */
import type { RecordChanges } from '../../store/contract.ts'
import { digest } from '../../store/digest.ts'

/** Records to write, ids to remove, and the digests of the records to write. */
export interface Difference<R> {
  changes: RecordChanges<R>
  digests: Map<string, string>
}

/** Compares everything: stored records that `wanted` lacks are removed. */
export function difference<R extends object>(
  stored: ReadonlyMap<string, string>,
  wanted: ReadonlyMap<string, R>,
): Difference<R> {
  const { changes, digests } = differenceOf(stored, wanted)
  const remove = [...stored.keys()].filter((id) => !wanted.has(id))
  return { changes: { put: changes.put, remove }, digests }
}

/** Compares only these records; undefined: to be removed. */
export function differenceOf<R extends object>(
  stored: ReadonlyMap<string, string>,
  touched: ReadonlyMap<string, R | undefined>,
): Difference<R> {
  const put = new Map<string, R>()
  const remove: string[] = []
  const digests = new Map<string, string>()
  for (const [id, record] of touched) {
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
