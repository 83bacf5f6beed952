/** The protected pages of a controller on the admin port. */

import { z } from 'zod'
import { AdminError, type AdminPage } from '../admin/server.ts'
import { present } from '../kit/present.ts'
import type { Heartbeat, Position } from '../store/contract.ts'
import { DAY_MS } from '../store/ledger/usage.ts'
import {
  type BooksLag,
  type Compiled,
  DIMENSIONS,
  type Dimension,
  type LedgerAccount,
  type Removal,
  type Risk,
  type UsageLine,
  type UsageQuery,
} from './snapshot.ts'
import type { ListedStatus } from './status/board.ts'

interface ControllerView {
  instance: string
  leading(): boolean
  /** Position of a leader; undefined while it is unknown. */
  position(): Position | undefined
  /** The last removal of most of the keys or routes in its term. */
  removal(): Removal | undefined
  /** Ways in which the store may lose balances, as far as a leader knows. */
  risks(): readonly Risk[]
  /** Of a leader. */
  lag(): BooksLag | undefined
  /** Why the controller is not ready; undefined if it is. */
  notReady(): string | undefined
  /** Heartbeats of live proxies; rejects with StoreUnavailable. */
  proxies(): Promise<readonly Heartbeat[]>
  compiled(): Compiled | undefined
  statuses(): Promise<ListedStatus[]>
  /** The sums of every account; undefined for a standby. Rejects with StoreUnavailable. */
  ledger(): Promise<LedgerAccount[]> | undefined
  /** Undefined for a standby. Rejects with StoreUnavailable. */
  usage(query: UsageQuery): Promise<UsageLine[]> | undefined
}

/**
 * `/resources`: all resources with their statuses. `/status`. `/ledger`: the sums of the accounts that are in force.
 * `/usage?from=&to=&by=`: who used what, on days such as 2026-12-31. `/keys?namespace=&name=`: the hashes (SHA-256) of the keys
 * of one ApiKey, none if it is not in force. The command line reads them by the schemas in cli/admin/answers.ts.
 */
export function controllerPages(view: ControllerView): Record<string, AdminPage> {
  return {
    '/resources': () => view.statuses(),
    '/status': async () => ({ instances: [await controllerInstance(view)] }),
    '/ledger': async () => {
      const accounts = await view.ledger()
      return { leading: accounts !== undefined, accounts: accounts ?? [] }
    },
    '/usage': async (query) => {
      const lines = await view.usage(usageQuery(query))
      return { leading: lines !== undefined, lines: lines ?? [] }
    },
    '/keys': async (query) => keyPage(view.compiled(), query),
  }
}

const usageParameters = z.object({
  from: z.iso.date(),
  to: z.iso.date(),
  by: z
    .string()
    .transform((text) => (text === '' ? [] : text.split(',')))
    .pipe(z.array(z.enum(DIMENSIONS)))
    .refine((by) => !by.includes('tag') || by.every((one) => TAG_DIMENSIONS.includes(one)), {
      error: 'tags are counted by account and day alone',
    }),
})
const TAG_DIMENSIONS: readonly Dimension[] = ['tag', 'account', 'day']

function usageQuery(query: URLSearchParams): UsageQuery {
  const { data, error } = usageParameters.safeParse(Object.fromEntries(query))
  if (data === undefined)
    throw new AdminError(
      400,
      error.issues.map(({ path, message }) => [...path, message].join(': ')).join('; '),
    )
  const dayOf = (date: string) => Math.floor(Date.parse(date) / DAY_MS)
  return { from: dayOf(data.from), to: dayOf(data.to), by: data.by }
}

async function controllerInstance(view: ControllerView) {
  const reason = view.notReady()
  const removal = view.removal()
  const risks = view.risks()
  // Absent while the store is unreachable.
  const proxies = await view.proxies().catch(() => undefined)
  return {
    role: 'controller' as const,
    instance: view.instance,
    leading: view.leading(),
    ...view.position(),
    ready: reason === undefined,
    ...present({
      reason,
      risks: risks.length === 0 ? undefined : risks,
      lag: isBehind(view.lag()) ? view.lag() : undefined,
      removal: removal && { ...removal, at: new Date(removal.at).toISOString() },
      proxies,
    }),
  }
}

/** Checkpoint and journal are written every ten seconds. */
const LATE_SECONDS = 60

const isBehind = (lag: BooksLag | undefined) =>
  lag !== undefined && Math.max(lag.journalSeconds, lag.checkpointSeconds) > LATE_SECONDS

function keyPage(compiled: Compiled | undefined, query: URLSearchParams) {
  const namespace = query.get('namespace')
  const name = query.get('name')
  if (namespace === null || name === null) throw new AdminError(400, 'the query needs namespace and name')
  const known = compiled?.statuses.find(
    ({ kind, metadata }) => kind === 'ApiKey' && metadata.namespace === namespace && metadata.name === name,
  )
  if (compiled === undefined || known === undefined)
    throw new AdminError(404, `there is no ApiKey ${name} in the namespace ${namespace}`)
  const hashes = [...compiled.keys]
    .filter(([, record]) => record.namespace === namespace && record.name === name)
    .map(([hash]) => hash)
  return { namespace, name, hashes, ...present({ preview: known.fields.preview }) }
}
