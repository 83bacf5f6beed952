/** The current status of every resource. */
import { isDeepStrictEqual } from 'node:util'
import type { Condition, KindName } from '../../contract/api/index.ts'
import type { Log } from '../../contract/log.ts'
import { SharedList } from '../../kit/shared-list.ts'
import type { Heartbeat, Store } from '../../store/contract.ts'
import {
  type AppliedCredits,
  byKindAndName,
  type Compiled,
  type FoundStatus,
  type ObjectStatus,
  type Published,
  type Risk,
  type Touched,
} from '../snapshot.ts'
import { allConditions, type Carried, withTimes } from './conditions.ts'
import { balanceOf, fundsChanged, fundsFields, type MoneyFields, recordedFunds } from './funds.ts'
import { type Illness, illnesses } from './health.ts'

/** How often the health of channels is updated, so that an upstream that fails now and then causes few writes. */
const HEALTH_MS = 10_000

/** A proxy counts as alive this long after its last heartbeat. */
export const LIVE_MS = 5_000

export type Status = { observedGeneration?: number; conditions: readonly Condition[] } & Record<
  string,
  unknown
>

export interface ListedStatus {
  kind: KindName
  namespace: string
  name: string
  generation: number
  status: Status
}

interface BoardOptions {
  store: Store
  log: Log
  /** Milliseconds since the epoch. */
  now: () => number
  /** The status of a resource in the API server, if any. Its times and funds are kept. */
  found?: ((id: string) => FoundStatus | undefined) | undefined
  /** Called with the ids of resources whose status may have changed. */
  onChange?: ((ids: readonly string[]) => void) | undefined
}

interface Entry {
  object: ObjectStatus
  conditions: readonly Condition[]
  /** Number of the judgement since which the resource is served unchanged. */
  judgement: number
  /** Generation of the publication that contains this version of the resource. */
  publication: number | undefined
  /** Every live proxy has served that publication; a proxy that joins later catches up before it serves. */
  served: boolean
  /** The last known funds of an Account, budgets of an ApiKey, or the time when a Credit was applied. */
  money: MoneyFields
}

/** "ApiKey/namespace/name" */
function statusId({ kind, metadata }: Pick<ObjectStatus, 'kind' | 'metadata'>): string {
  return `${kind}/${metadata.namespace}/${metadata.name}`
}

export class StatusBoard {
  readonly #options: BoardOptions
  readonly #entries = new Map<string, Entry>()
  /** Entries that some proxy does not serve yet. */
  readonly #waiting = new Map<string, Entry>()
  readonly #conditions = new SharedList<Condition>()
  #judgements = 0
  readonly #judgementOf = new WeakMap<Compiled, number>()
  #credits: AppliedCredits = {
    results: new Map(),
    funds: new Map(),
    lost: new Set(),
    withheld: new Set(),
    spending: new Map(),
  }
  #risks: readonly Risk[] = []
  #live: readonly Heartbeat[] = []
  /** By "namespace/name" of the Channel. */
  #ill = new Map<string, Illness>()
  #lookedAt = Number.NEGATIVE_INFINITY

  constructor(options: BoardOptions) {
    this.#options = options
  }

  /** True while a publication is not served by every live proxy. */
  get waiting(): boolean {
    for (const { publication } of this.#waiting.values()) if (publication !== undefined) return true
    return false
  }

  /** statusId of every resource. */
  ids(): string[] {
    return [...this.#entries.keys()]
  }

  /** Proxies that were alive at the last refresh. */
  get live(): readonly Heartbeat[] {
    return this.#live
  }

  /**
   * Takes the judgements of compile; resources without one are gone. `touched`: what has changed since the last call;
   * without it, all are compared.
   */
  judged(compiled: Compiled, touched?: Pick<Touched, 'statuses'>): void {
    this.#judgements++
    this.#judgementOf.set(compiled, this.#judgements)
    const changed: string[] = []
    for (const [id, object] of touched?.statuses ?? this.#allOf(compiled)) {
      const old = this.#entries.get(id)
      if (object === undefined) {
        this.#entries.delete(id)
        this.#waiting.delete(id)
        continue
      }
      if (old?.object === object) continue
      const again = old?.object.metadata.uid === object.metadata.uid ? old : undefined
      const entry: Entry =
        again !== undefined && servesTheSame(again.object, object)
          ? { ...again, object }
          : {
              object,
              conditions: again?.conditions ?? this.#options.found?.(id)?.conditions ?? [],
              judgement: this.#judgements,
              publication: undefined,
              served: false,
              money: again?.money ?? NO_MONEY,
            }
      this.#entries.set(id, entry)
      if (object.inForce && object.kind !== 'Credit' && !entry.served) this.#waiting.set(id, entry)
      else this.#waiting.delete(id)
      changed.push(id)
    }
    this.#judge(changed)
  }

  #allOf({ statuses }: Compiled): Map<string, ObjectStatus | undefined> {
    const all = new Map<string, ObjectStatus | undefined>()
    for (const id of this.#entries.keys()) all.set(id, undefined)
    for (const object of statuses) all.set(statusId(object), object)
    return all
  }

  /** Takes the result of the publisher: everything in `compiled` is in the store. */
  published({ compiled, generation, credits }: Published): void {
    const judgement = this.#judgementOf.get(compiled) ?? 0
    const changed: string[] = []
    for (const [id, entry] of this.#waiting) {
      if (entry.publication !== undefined || entry.judgement > judgement) continue
      entry.publication = generation
      changed.push(id)
    }
    this.#judge(changed)
    this.money(credits)
  }

  /** Takes the answers of the ledger. */
  money(credits: AppliedCredits): void {
    const before = this.#credits
    if (before === credits) return
    this.#credits = credits
    const changed: string[] = []
    for (const [id, entry] of this.#entries) {
      const { kind } = entry.object
      const hasMoney =
        kind === 'Account' || kind === 'Credit' || (kind === 'ApiKey' && credits.spending.has(id))
      if (!hasMoney && entry.money.budgets === undefined) continue
      const { budgets: _, ...others } = entry.money
      const money = { ...others, ...fundsFields(credits, entry.object) }
      const moved = !isDeepStrictEqual(entry.money, money)
      entry.money = money
      if (moved || fundsChanged(before, credits, entry.object)) changed.push(id)
    }
    this.#judge(changed)
  }

  /** Takes the ways in which the store may lose balances. */
  risks(risks: readonly Risk[]): void {
    if (isDeepStrictEqual(kindsOf(this.#risks), kindsOf(risks))) return
    this.#risks = risks
    this.#judge([...this.#entries].filter(([, { object }]) => object.kind === 'Account').map(([id]) => id))
  }

  /** Updates conditions by the proxies that are alive now. Rejects with StoreUnavailable. */
  async refresh(): Promise<void> {
    const before = this.#live.length
    this.#live = await this.#options.store.config.heartbeats(LIVE_MS)
    const changed = [...this.#serve(), ...this.#health()]
    const all = (before === 0) !== (this.#live.length === 0)
    this.#judge(all ? [...this.#entries.keys()] : changed)
  }

  /** The current status of every resource. Rejects with StoreUnavailable. */
  async list(): Promise<ListedStatus[]> {
    await this.refresh()
    return [...this.#entries]
      .sort(([, a], [, b]) => byKindAndName(a.object, b.object))
      .map(([id, entry]) => {
        const { kind, metadata } = entry.object
        const { namespace, name, generation } = metadata
        return { kind, namespace, name, generation, status: this.#status(id, entry) }
      })
  }

  /**
   * The status that a resource should have, by statusId. Undefined if the resource is gone, or if the status in the API
   * server must stay until the ledger has answered: a new leader does not know balances yet.
   */
  status(id: string): Status | undefined {
    const entry = this.#entries.get(id)
    return entry === undefined || this.#mustWaitForLedger(id, entry.object)
      ? undefined
      : this.#status(id, entry)
  }

  #mustWaitForLedger(id: string, object: ObjectStatus): boolean {
    if (object.kind !== 'Account' || !object.inForce || balanceOf(this.#credits, object) !== 'unknown')
      return false
    const found = this.#options.found?.(id)?.conditions ?? []
    return found.some(({ type }) => type === 'Programmed')
  }

  #status(id: string, { object, conditions, money }: Entry): Status {
    const found = this.#options.found?.(id)
    const illness = this.#illness(object)
    return {
      observedGeneration: object.metadata.generation,
      conditions: conditions.map((condition) => withTimeFound(condition, found?.conditions)),
      ...object.fields,
      ...(illness !== undefined && { health: { ...illness } }),
      ...recordedFunds(object.kind, found),
      ...money,
    }
  }

  /** Updates the failures that live proxies report, and returns the ids of channels for which they changed. */
  #health(): string[] {
    const now = this.#options.now()
    if (now - this.#lookedAt < HEALTH_MS) return []
    this.#lookedAt = now
    const before = this.#ill
    this.#ill = illnesses(this.#live)
    return [...new Set([...before.keys(), ...this.#ill.keys()])]
      .filter((name) => !isDeepStrictEqual(before.get(name), this.#ill.get(name)))
      .map((name) => `Channel/${name}`)
  }

  #illness({ kind, inForce, metadata: { namespace, name } }: ObjectStatus): Illness | undefined {
    return kind === 'Channel' && inForce ? this.#ill.get(`${namespace}/${name}`) : undefined
  }

  /** Marks the waiting entries that every live proxy serves, and returns their ids. */
  #serve(): string[] {
    if (this.#live.length === 0) return []
    const served = Math.min(...this.#live.map(({ generation }) => generation))
    const changed: string[] = []
    for (const [id, entry] of this.#waiting) {
      if (entry.publication === undefined || entry.publication > served) continue
      entry.served = true
      this.#waiting.delete(id)
      changed.push(id)
    }
    return changed
  }

  #judge(ids: readonly string[]): void {
    const changed = new Set([...ids, ...this.#serve()])
    if (changed.size === 0) return
    const now = new Date(this.#options.now()).toISOString()
    for (const id of changed) {
      const entry = this.#entries.get(id)
      if (entry === undefined) continue
      const before = entry.conditions
      const judgements = allConditions(entry.object, this.#carried(entry), this.#live.length)
      entry.conditions = this.#conditions.share(withTimes(judgements, before, now))
      this.#logChange(entry.object, before, entry.conditions)
    }
    this.#options.onChange?.([...changed])
  }

  #carried({ object, publication, served }: Entry): Carried {
    const { namespace, name } = object.metadata
    const carried = { publication, served, illness: this.#illness(object) }
    if (object.kind === 'Credit')
      return { ...carried, credit: this.#credits.results.get(`${namespace}/${name}`)?.outcome }
    const low = this.#credits.spending.get(statusId(object))?.warnings
    if (object.kind !== 'Account') return { ...carried, low }
    return { ...carried, low, balance: balanceOf(this.#credits, object), risks: this.#risks }
  }

  #logChange(object: ObjectStatus, before: readonly Condition[], after: readonly Condition[]): void {
    const { namespace, name } = object.metadata
    for (const { type, status, reason, message } of after) {
      if (type !== 'Accepted' && type !== 'ResolvedRefs') continue
      const old = before.find((condition) => condition.type === type)
      const fields = { kind: object.kind, namespace, name, condition: type, reason }
      if (reason === 'Expiring' && old?.message !== message)
        this.#options.log.warn(fields, `${object.kind}/${name}: ${message}`)
      if (status === 'False' && (old?.status !== 'False' || old.message !== message))
        this.#options.log.warn(fields, `${object.kind}/${name} is not ${type}: ${message}`)
      else if (status === 'True' && old?.status === 'False')
        this.#options.log.info(fields, `${object.kind}/${name} is ${type} again`)
    }
  }
}

const NO_MONEY: MoneyFields = {}

const kindsOf = (risks: readonly Risk[]) => risks.map(({ kind }) => kind)

/**
 * False if proxies serve something else for the resource: because of a new generation, or because a Secret, an Account or
 * a Channel that it refers to has appeared, gone or changed.
 */
function servesTheSame(old: ObjectStatus, now: ObjectStatus): boolean {
  const verdict = ({ conditions }: ObjectStatus) => conditions.map(({ type, status }) => [type, status])
  return (
    old.inForce === now.inForce &&
    old.metadata.generation === now.metadata.generation &&
    isDeepStrictEqual(old.fields, now.fields) &&
    isDeepStrictEqual(verdict(old), verdict(now))
  )
}

/** Keeps the time in the API server if the status is the same as there. */
function withTimeFound(condition: Condition, found: readonly Condition[] | undefined): Condition {
  const old = found?.find(({ type }) => type === condition.type)
  return old?.status === condition.status
    ? { ...condition, lastTransitionTime: old.lastTransitionTime }
    : condition
}
