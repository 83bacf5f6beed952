/** What must be written to bring the store from what it holds to what compile says. */
import type { TableRecord } from '../../contract/table/records.ts'
import type { Manifest, Publication, RecordChanges } from '../../store/contract.ts'
import { digest } from '../../store/digest.ts'
import type { Compiled } from '../snapshot.ts'
import { type Difference, difference } from './changes.ts'
import { isMassRemoval, RemovalGuard } from './guard.ts'

/** What the store holds, as far as a plan needs it. */
export interface Stored {
  manifest: Manifest
  /** Routes of the stored table that lead somewhere; undefined when it cannot be read. */
  routes: number | undefined
}

export interface Plan {
  changes: Pick<Publication, 'table' | 'keys' | 'accounts'>
  /** What is stored once that is done, but for epoch and generation. */
  after: { table?: string; routes: number | undefined } & Pick<Manifest, 'keys' | 'accounts'>
  /** True: the stored table stays, because the new one has lost most of its routes. */
  tableKept: boolean
}

export class Planner {
  readonly #keys = new RemovalGuard()
  readonly #accounts = new RemovalGuard()
  #tableKept = false

  /** How many records stay that nothing names any more; see RemovalGuard. */
  get heldBack(): number {
    return this.#keys.held + this.#accounts.held
  }

  /**
   * `anew`: everything was read anew, so that what is missing may be missing by mistake. `keepTable`: the store has
   * refused the new table.
   */
  plan(
    compiled: Compiled,
    { manifest, routes }: Stored,
    { anew, keepTable, allowRemovals }: { anew: boolean; keepTable: boolean; allowRemovals: boolean },
  ): Plan {
    const guarded = anew && !allowRemovals
    const wanted = digest(compiled.table)
    const tableKept = this.#keepsTable(compiled.table, routes, guarded, allowRemovals)
    const table = keepTable || tableKept ? manifest.table : wanted
    const keys = held(difference(manifest.keys, compiled.keys), manifest.keys, this.#keys, guarded)
    const accounts = held(
      difference(manifest.accounts, compiled.accounts),
      manifest.accounts,
      this.#accounts,
      guarded,
    )
    return {
      changes: {
        ...(table !== manifest.table && { table: compiled.table }),
        keys: keys.changes,
        accounts: accounts.changes,
      },
      after: {
        ...(table !== undefined && { table }),
        routes: table === wanted ? routesOf(compiled.table) : routes,
        keys: keys.digests,
        accounts: accounts.digests,
      },
      tableKept,
    }
  }

  /** Once a table is held back, it stays so until enough routes are there again. */
  #keepsTable(table: TableRecord, stored: number | undefined, anew: boolean, allowed: boolean): boolean {
    const mass = stored !== undefined && isMassRemoval(stored, stored - routesOf(table))
    this.#tableKept = mass && !allowed && (anew || this.#tableKept)
    return this.#tableKept
  }
}

/** Routes that have a channel to go to. */
export function routesOf(table: TableRecord): number {
  return Object.values(table.namespaces)
    .flatMap(({ routes }) => routes)
    .filter(({ targets }) => targets.length > 0).length
}

function held<R>(
  { changes, digests }: Difference<R>,
  stored: ReadonlyMap<string, string>,
  guard: RemovalGuard,
  anew: boolean,
): { changes: RecordChanges<R>; digests: Map<string, string> } {
  const remove = guard.allow(changes.remove, stored.size, anew)
  if (remove.length < changes.remove.length) {
    const going = new Set(remove)
    for (const id of changes.remove) {
      const kept = stored.get(id)
      if (kept !== undefined && !going.has(id)) digests.set(id, kept)
    }
  }
  return { changes: { put: changes.put, remove }, digests }
}
