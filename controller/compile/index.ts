/**
 * Compiles resources into records to publish and conditions. Pure and total: a resource with a fault gets a condition, and
 * everything else is still published. `now`: milliseconds since the epoch.
 */
import { TABLE_VERSION, type TableRecord } from '../../contract/table/records.ts'
import { byKindAndName, byText, type Compiled, type ObjectStatus, type Snapshot } from '../snapshot.ts'
import { compileAccounts } from './accounts.ts'
import { type Channels, compileChannels } from './channels.ts'
import { condition } from './conditions.ts'
import { compileCredits } from './credits.ts'
import { compileKeys } from './keys.ts'
import { compileRoutes, type Routes } from './routes.ts'

export function compile(snapshot: Snapshot, now: number): Compiled {
  return compileSlice(snapshot, now).compiled
}

/** The result for some resources, and when and with which others they must be compiled again. */
export interface Slice {
  compiled: Compiled
  /** SHA-256 of the keys of each ApiKey, in force or not, by "namespace/name". */
  claims: ReadonlyMap<string, readonly string[]>
  /** When ApiKeys must be compiled again, by "namespace/name". */
  untils: ReadonlyMap<string, number>
}

export function compileSlice(snapshot: Snapshot, now: number): Slice {
  const accounts = compileAccounts(snapshot)
  const { credits, statuses: creditStatuses } = compileCredits(snapshot, accounts)
  const {
    keys,
    accounts: ownAccounts,
    claims,
    untils,
    statuses: keyStatuses,
  } = compileKeys(snapshot, accounts, now)
  const channels = compileChannels(snapshot)
  const routes = compileRoutes(snapshot, channels)
  const statuses = [
    ...keyStatuses,
    ...accounts.statuses,
    ...creditStatuses,
    ...channels.statuses,
    ...routes.statuses,
    ...snapshot.invalid.map(({ kind, metadata, message }): ObjectStatus => {
      const finding = { reason: 'Invalid', message } as const
      const conditions = [condition('Accepted', 'False', metadata.generation, [finding])]
      return { kind, metadata, inForce: false, conditions, fields: {} }
    }),
  ]
  const compiled = {
    table: tableOf(channels, routes),
    keys,
    accounts: new Map([...accounts.records, ...ownAccounts]),
    credits,
    statuses: statuses.sort(byKindAndName),
    until: earliest(untils),
  }
  return { compiled, claims, untils }
}

/** Infinity if there are none. */
export function earliest(untils: ReadonlyMap<string, number>): number {
  return [...untils.values()].reduce((first, until) => Math.min(first, until), Number.POSITIVE_INFINITY)
}

/** Routes are sorted by name, so that the same resources give the same table, regardless of the order of reading. */
function tableOf(channels: Channels, routes: Routes): TableRecord {
  const namespaces = new Map<string, TableRecord['namespaces'][string]>()
  const of = (namespace: string) => {
    const found = namespaces.get(namespace) ?? { routes: [], channels: {} }
    namespaces.set(namespace, found)
    return found
  }
  for (const { namespace, record } of channels.records.values()) of(namespace).channels[record.name] = record
  for (const { namespace, record } of routes.records) of(namespace).routes.push(record)
  for (const { routes: list } of namespaces.values()) list.sort((a, b) => byText(a.name, b.name))
  return tableFrom(namespaces)
}

export function tableFrom(namespaces: ReadonlyMap<string, TableRecord['namespaces'][string]>): TableRecord {
  return { version: TABLE_VERSION, namespaces: Object.fromEntries(namespaces) }
}
