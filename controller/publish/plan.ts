/** The changes that bring the store to the state of a Compiled. */
import type { TableRecord } from '../../contract/table/records.ts'
import type { Manifest, Publication, RecordChanges } from '../../store/contract.ts'
import { digest } from '../../store/digest.ts'
import type { Compiled, Touched } from '../snapshot.ts'
import { difference } from './changes.ts'

/** The contents of the store, as far as a plan needs them. */
export interface Stored {
  manifest: Manifest
  /** Number of routes with targets in the stored table, by namespace; empty if it cannot be read. */
  routes: ReadonlyMap<string, number>
}

interface Plan {
  changes: Pick<Publication, 'table' | 'keys' | 'accounts'>
  /** digest() of the table after these changes, and its routes. */
  table: string | undefined
  routes: Stored['routes']
  /** digest() of the records to write. */
  digests: Record<'keys' | 'accounts', ReadonlyMap<string, string>>
}

/** `touched`: nothing else differs from the store; undefined: anything may differ. */
export function plan(compiled: Compiled, { manifest, routes }: Stored, touched: Touched | undefined): Plan {
  const table = touched?.table === false ? manifest.table : digest(compiled.table)
  const keys = difference(manifest.keys, compiled.keys, touched?.keys)
  const accounts = difference(manifest.accounts, compiled.accounts, touched?.accounts)
  const changed = table !== manifest.table
  return {
    changes: {
      ...(changed && { table: compiled.table }),
      keys: keys.changes,
      accounts: accounts.changes,
    },
    table,
    routes: changed ? routesOf(compiled.table) : routes,
    digests: { keys: keys.digests, accounts: accounts.digests },
  }
}

/** Updates `stored` after this plan was published. */
export function done(stored: Stored, made: Plan, epoch: number, generation: number): void {
  const { manifest } = stored
  note(manifest.keys, made.changes.keys, made.digests.keys)
  note(manifest.accounts, made.changes.accounts, made.digests.accounts)
  if (made.table !== undefined) manifest.table = made.table
  Object.assign(manifest, { epoch, generation })
  stored.routes = made.routes
}

function note(
  stored: Map<string, string>,
  { remove }: RecordChanges<unknown>,
  digests: ReadonlyMap<string, string>,
): void {
  for (const id of remove) stored.delete(id)
  for (const [id, hash] of digests) stored.set(id, hash)
}

/** Number of routes with targets, by namespace. */
export function routesOf(table: TableRecord): Map<string, number> {
  return new Map(
    Object.entries(table.namespaces).map(([namespace, { routes }]) => [
      namespace,
      routes.filter(({ targets }) => targets.length > 0).length,
    ]),
  )
}
