/** What must be written to bring the store from what it holds to what compile says. */
import type { TableRecord } from '../../contract/table/records.ts'
import type { Manifest, Publication } from '../../store/contract.ts'
import { digest } from '../../store/digest.ts'
import type { Compiled } from '../snapshot.ts'
import { difference } from './changes.ts'

/** What the store holds, as far as a plan needs it. */
export interface Stored {
  manifest: Manifest
  /** How many routes of the stored table lead somewhere, by namespace; empty when it cannot be read. */
  routes: ReadonlyMap<string, number>
}

export interface Plan {
  changes: Pick<Publication, 'table' | 'keys' | 'accounts'>
  /** What is stored once that is done, but for epoch and generation. */
  after: Pick<Manifest, 'table' | 'keys' | 'accounts'> & Pick<Stored, 'routes'>
}

export function plan(compiled: Compiled, { manifest, routes }: Stored): Plan {
  const table = digest(compiled.table)
  const changed = table !== manifest.table
  const keys = difference(manifest.keys, compiled.keys)
  const accounts = difference(manifest.accounts, compiled.accounts)
  return {
    changes: {
      ...(changed && { table: compiled.table }),
      keys: keys.changes,
      accounts: accounts.changes,
    },
    after: {
      table,
      routes: changed ? routesOf(compiled.table) : routes,
      keys: keys.digests,
      accounts: accounts.digests,
    },
  }
}

/** Routes that have a channel to go to, by namespace. */
export function routesOf(table: TableRecord): Map<string, number> {
  return new Map(
    Object.entries(table.namespaces).map(([namespace, { routes }]) => [
      namespace,
      routes.filter(({ targets }) => targets.length > 0).length,
    ]),
  )
}

export function sum(counts: ReadonlyMap<string, number>): number {
  let total = 0
  for (const count of counts.values()) total += count
  return total
}
