/** From the sealed text of a record to the record. Errors never quote the text. */
import { z } from 'zod'
import {
  type ChannelRecord,
  channelRecord,
  type PublishedTable,
  publishedTableOf,
  type RouteRecord,
  routeRecord,
} from '../../contract/table/records.ts'
import { RecordUnreadable } from '../contract.ts'
import type { KeyRing } from '../sealing.ts'
import { partsOf, type TableParts } from './table-text.ts'

/** Milliseconds of work on routes and channels before others have their turn. */
const AT_ONCE_MS = 0.5

/** A table whose routes and channels are not checked yet. */
const outline = publishedTableOf(z.unknown(), z.unknown())

/** Throws RecordUnreadable. */
export function openRecord<R>(ring: KeyRing, name: string, sealed: string, schema: z.ZodType<R>): R {
  return checked(name, () => schema.parse(JSON.parse(ring.open(name, sealed).text)))
}

/** Routes or channels by the text that each was read from. */
type ByText<R> = ReadonlyMap<string, R>

/**
 * Opens each published table in steps: one of a thousand routes takes as long as a hundred requests, which must not wait for
 * all of it. A route or channel whose text did not change since the last table is the same object again, and is not read twice.
 */
export class TableOpener {
  readonly #ring: KeyRing
  readonly #name: string
  readonly #now: () => number
  #routes: ByText<RouteRecord> = new Map()
  #channels: ByText<ChannelRecord> = new Map()

  /** `now`: milliseconds, monotonic. */
  constructor(ring: KeyRing, name: string, now = () => performance.now()) {
    this.#ring = ring
    this.#name = name
    this.#now = now
  }

  /** Throws RecordUnreadable. */
  async open(sealed: string): Promise<PublishedTable> {
    const name = this.#name
    // This turn had to compare the hash of the text: a millisecond for a megabyte.
    await othersTurn()
    const { text } = checked(name, () => this.#ring.open(name, sealed))
    await othersTurn()
    const parts = checked(name, () => partsOf(text))
    const { epoch, generation, table } = checked(name, () => outline.parse(parts.outline))
    const routesNow = new Map<string, RouteRecord>()
    const channelsNow = new Map<string, ChannelRecord>()
    const readRoute = reader(routeRecord, parts, this.#routes, routesNow)
    const readChannel = reader(channelRecord, parts, this.#channels, channelsNow)
    const namespaces: PublishedTable['table']['namespaces'] = {}
    for (const [namespace, { routes, channels }] of Object.entries(table.namespaces)) {
      const at = ['table', 'namespaces', namespace]
      const readRoutes = await this.#inSteps([...at, 'routes'], routes, readRoute)
      const readChannels = await this.#inSteps([...at, 'channels'], channels, readChannel)
      namespaces[namespace] = {
        routes: readRoutes.map(([, route]) => route),
        channels: Object.fromEntries(readChannels),
      }
    }
    this.#routes = routesNow
    this.#channels = channelsNow
    return { epoch, generation, table: { ...table, namespaces } }
  }

  /** `at`: where the parts stand in the record. */
  async #inSteps<R>(
    at: readonly string[],
    parts: object,
    read: (part: unknown) => R,
  ): Promise<[string, R][]> {
    const found: [string, R][] = []
    let since = this.#now()
    for (const [key, part] of Object.entries(parts)) {
      found.push([key, checked(this.#name, () => read(part), [...at, key])])
      if (this.#now() - since < AT_ONCE_MS) continue
      await othersTurn()
      since = this.#now()
    }
    return found
  }
}

/** Reads the parts of one kind, which are numbers of texts, or objects where the document has no lines. */
function reader<R>(
  schema: z.ZodType<R>,
  { texts }: TableParts,
  before: ByText<R>,
  now: Map<string, R>,
): (part: unknown) => R {
  return (part) => {
    if (typeof part !== 'number') return schema.parse(part)
    const text = texts[part] ?? ''
    const record = before.get(text) ?? schema.parse(JSON.parse(text))
    now.set(text, record)
    return record
  }
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
