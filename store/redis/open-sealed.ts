/** From the sealed text of a record to the record. Errors never quote the text. */
import { z } from 'zod'
import {
  channelRecord,
  type PublishedTable,
  publishedTableOf,
  routeRecord,
} from '../../contract/table/records.ts'
import { RecordUnreadable } from '../contract.ts'
import type { KeyRing } from '../sealing.ts'
import { partsOf } from './table-text.ts'

/** Routes or channels that are parsed and checked before others have their turn: less than a millisecond of work. */
const CHECKED_AT_ONCE = 50

/** A table whose routes and channels are not checked yet. */
const outline = publishedTableOf(z.unknown(), z.unknown())

/** Throws RecordUnreadable. */
export function openRecord<R>(ring: KeyRing, name: string, sealed: string, schema: z.ZodType<R>): R {
  return checked(name, () => schema.parse(JSON.parse(ring.open(name, sealed).text)))
}

/**
 * Opens a table in steps: one of a thousand routes takes as long as a hundred requests, which must not wait for all of it.
 * Throws RecordUnreadable.
 */
export async function openTable(ring: KeyRing, name: string, sealed: string): Promise<PublishedTable> {
  const { text } = checked(name, () => ring.open(name, sealed))
  await othersTurn()
  const parts = checked(name, () => partsOf(text))
  const { epoch, generation, table } = checked(name, () => outline.parse(parts.outline))
  const read = (part: unknown): unknown =>
    typeof part === 'number' ? JSON.parse(parts.texts[part] ?? '') : part
  const namespaces: PublishedTable['table']['namespaces'] = {}
  for (const [namespace, { routes, channels }] of Object.entries(table.namespaces)) {
    const at = ['table', 'namespaces', namespace]
    namespaces[namespace] = {
      routes: (
        await inSteps(name, [...at, 'routes'], Object.entries(routes), (part) =>
          routeRecord.parse(read(part)),
        )
      ).map(([, route]) => route),
      channels: Object.fromEntries(
        await inSteps(name, [...at, 'channels'], Object.entries(channels), (part) =>
          channelRecord.parse(read(part)),
        ),
      ),
    }
  }
  return { epoch, generation, table: { ...table, namespaces } }
}

/** `at`: where the entries stand in the record. */
async function inSteps<R>(
  name: string,
  at: readonly string[],
  entries: readonly [string, unknown][],
  read: (part: unknown) => R,
): Promise<[string, R][]> {
  const found: [string, R][] = []
  for (const [key, value] of entries) {
    found.push([key, checked(name, () => read(value), [...at, key])])
    if (found.length % CHECKED_AT_ONCE === 0) await othersTurn()
  }
  return found
}

const othersTurn = () => new Promise(setImmediate)

/** `at`: where the part that is read stands in the record. */
function checked<T>(name: string, read: () => T, at: readonly string[] = []): T {
  try {
    return read()
  } catch (error) {
    throw new RecordUnreadable(`${name}: ${reasonOf(error, at)}`)
  }
}

function reasonOf(error: unknown, at: readonly string[]): string {
  if (error instanceof z.ZodError) {
    const path = [...at, ...(error.issues[0]?.path ?? [])].join('.')
    return `does not match the schema at ${path || 'its root'}`
  }
  return error instanceof SyntaxError
    ? 'not JSON'
    : error instanceof Error
      ? error.message
      : 'cannot be opened'
}
