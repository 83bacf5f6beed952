/** The current status of every resource: what `kubectl get` would show, kept in memory. */
import type { Condition, KindName } from '../../contract/api/index.ts'
import { objectId } from '../../contract/ids.ts'
import type { Log } from '../../contract/log.ts'
import { formatDollars } from '../../contract/money.ts'
import type { Heartbeat, Store } from '../../store/contract.ts'
import type { AppliedCredits, Compiled, ObjectStatus, Published } from '../snapshot.ts'
import { allConditions, type Carried, withTimes } from './conditions.ts'

/** A proxy counts as alive this long after its last heartbeat. */
const LIVE_MS = 5_000

export interface ListedStatus {
  kind: KindName
  namespace: string
  name: string
  generation: number
  status: { conditions: Condition[] } & Record<string, unknown>
}

export interface BoardOptions {
  store: Store
  log: Log
  /** Milliseconds since the epoch. */
  now: () => number
}

interface Entry {
  object: ObjectStatus
  conditions: Condition[]
  /** The publication that carried this generation of the resource. */
  carried: { generation: number; publication: number } | undefined
}

export class StatusBoard {
  readonly #options: BoardOptions
  #entries = new Map<string, Entry>()
  #credits: AppliedCredits = { results: new Map(), credited: new Map() }
  #live: readonly Heartbeat[] = []

  constructor(options: BoardOptions) {
    this.#options = options
  }

  /** Takes what compile says of all resources; those it does not name are gone. */
  judged({ statuses }: Compiled): void {
    const before = this.#entries
    this.#entries = new Map()
    for (const object of statuses) {
      const old = before.get(idOf(object))
      // A Secret may bring a resource into force without a new generation.
      const carried = old?.object.inForce === true && object.inForce ? old.carried : undefined
      this.#entries.set(idOf(object), { object, conditions: old?.conditions ?? [], carried })
    }
    this.#judge()
  }

  /** Takes what the publisher has done: everything that `compiled` names is in the store. */
  published({ compiled, generation, tableRefused, credits }: Published): void {
    this.#credits = credits
    for (const { kind, metadata, inForce } of compiled.statuses) {
      const inTable = kind === 'Channel' || kind === 'ModelRoute'
      const entry = this.#entries.get(idOf({ kind, metadata }))
      if (entry === undefined || !inForce || (inTable && tableRefused)) continue
      if (entry.carried?.generation !== metadata.generation)
        entry.carried = { generation: metadata.generation, publication: generation }
    }
    this.#judge()
  }

  /** Judges Programmed and Ready by the proxies that are alive now. Rejects with StoreUnavailable. */
  async refresh(): Promise<void> {
    this.#live = await this.#options.store.config.heartbeats(LIVE_MS)
    this.#judge()
  }

  /** The status of every resource, judged now. Rejects with StoreUnavailable. */
  async list(): Promise<ListedStatus[]> {
    await this.refresh()
    return Promise.all(
      [...this.#entries.values()].map(async ({ object, conditions }) => {
        const { kind, metadata, fields } = object
        const { namespace, name, generation } = metadata
        const status = { conditions, ...fields, ...(await this.#moreFields(object)) }
        return { kind, namespace, name, generation, status }
      }),
    )
  }

  #judge(): void {
    const now = this.#options.now()
    for (const entry of this.#entries.values()) {
      const before = entry.conditions
      const judgements = allConditions(entry.object, this.#carriedBy(entry), this.#live)
      entry.conditions = withTimes(judgements, before, now)
      this.#logChange(entry.object, before, entry.conditions)
    }
  }

  #carriedBy({ object, carried }: Entry): Carried {
    const { namespace, name, generation } = object.metadata
    const credit =
      object.kind === 'Credit' ? this.#credits.results.get(`${namespace}/${name}`)?.outcome : undefined
    return { publication: carried?.generation === generation ? carried.publication : undefined, credit }
  }

  async #moreFields({ kind, metadata }: ObjectStatus): Promise<Record<string, string>> {
    if (kind === 'Account') return this.#funds(objectId(metadata.namespace, metadata.name))
    if (kind !== 'Credit') return {}
    const appliedAt = this.#credits.results.get(`${metadata.namespace}/${metadata.name}`)?.appliedAt
    return appliedAt === undefined ? {} : { appliedAt: new Date(appliedAt).toISOString() }
  }

  async #funds(account: string): Promise<Record<string, string>> {
    const balance = await this.#options.store.ledger.balance(account)
    if (balance === undefined) return {}
    const credited = this.#credits.credited.get(account) ?? 0
    return {
      balance: formatDollars(balance.posted),
      held: formatDollars(balance.held),
      credited: formatDollars(credited),
      spent: formatDollars(credited - balance.posted),
    }
  }

  #logChange(object: ObjectStatus, before: readonly Condition[], after: readonly Condition[]): void {
    const { namespace, name } = object.metadata
    for (const { type, status, reason, message } of after) {
      if (type !== 'Accepted' && type !== 'ResolvedRefs') continue
      const old = before.find((condition) => condition.type === type)
      const fields = { kind: object.kind, namespace, name, condition: type, reason }
      if (status === 'False' && (old?.status !== 'False' || old.message !== message))
        this.#options.log.warn(fields, `${object.kind}/${name} is not ${type}: ${message}`)
      else if (status === 'True' && old?.status === 'False')
        this.#options.log.info(fields, `${object.kind}/${name} is ${type} again`)
    }
  }
}

function idOf({ kind, metadata }: Pick<ObjectStatus, 'kind' | 'metadata'>): string {
  return `${kind}/${metadata.namespace}/${metadata.name}`
}
