/**
 * The data between the steps of the controller: resources (Snapshot), what compile makes of them (Compiled), and the
 * result of publishing that (Published).
 */
import {
  type AccountSpec,
  type ApiKeySpec,
  type ChannelSpec,
  type Condition,
  type ConditionType,
  type CreditSpec,
  KIND_NAMES,
  type KindName,
  type Metadata,
  type ModelRouteSpec,
  type Reason,
  type Resource,
  type Specs,
} from '../contract/api/index.ts'
import type { Nanos } from '../contract/money.ts'
import type { AccountRecord, KeyRecord, TableRecord } from '../contract/table/records.ts'
import type { Usage } from '../contract/usage.ts'

/** The input of compile: all resources of the five kinds and the Secrets that they refer to. */
export interface Snapshot {
  apiKeys: Resource<ApiKeySpec>[]
  accounts: Resource<AccountSpec>[]
  credits: Resource<CreditSpec>[]
  channels: Resource<ChannelSpec>[]
  modelRoutes: Resource<ModelRouteSpec>[]
  /** Decoded Secrets by "namespace/name". */
  secrets: Map<string, SecretData>
  /**
   * The generated Secrets of ApiKeys that do not refer to a key, by "namespace/name" of the ApiKey; undefined in folder
   * mode, where none are generated.
   */
  generated?: ReadonlyMap<string, GeneratedKey>
  /** Resources that do not parse: they get Accepted=False and are otherwise ignored. */
  invalid: InvalidResource[]
}

/** Entries of a Secret; a class, so that logs and JSON show only the names of the entries. */
export class SecretData {
  readonly #entries: Map<string, string>
  constructor(entries: Iterable<[string, string]>) {
    this.#entries = new Map(entries)
  }
  get(key: string): string | undefined {
    return this.#entries.get(key)
  }
  keys(): string[] {
    return [...this.#entries.keys()]
  }
  toJSON(): Record<string, string> {
    return Object.fromEntries(this.keys().map((key) => [key, '(redacted)']))
  }
}

/** The Secret for a key that the controller mints. */
export interface GeneratedKey {
  secretName: string
  /** `absent`: not created yet. `foreign`: a Secret of this name belongs to another owner and is not touched. */
  state: 'made' | 'absent' | 'foreign'
}

export interface InvalidResource {
  kind: KindName
  metadata: Metadata
  /** What is wrong and what to change. */
  message: string
}

/** Adds a resource to those of its kind. */
export function addTo(snapshot: Snapshot, resource: AnyResource): void {
  if (resource.kind === 'ApiKey') snapshot.apiKeys.push(resource)
  else if (resource.kind === 'Account') snapshot.accounts.push(resource)
  else if (resource.kind === 'Credit') snapshot.credits.push(resource)
  else if (resource.kind === 'Channel') snapshot.channels.push(resource)
  else snapshot.modelRoutes.push(resource)
}

export function emptySnapshot(): Snapshot {
  return {
    apiKeys: [],
    accounts: [],
    credits: [],
    channels: [],
    modelRoutes: [],
    secrets: new Map(),
    invalid: [],
  }
}

/** What has changed since the previous Changes; at first, everything. */
export interface Changes {
  /**
   * Resources that changed, and those that refer to a changed Secret, by "Kind/namespace/name"; undefined if removed.
   */
  resources: ReadonlyMap<string, AnyResource | InvalidResource | undefined>
  /** See Snapshot; undefined: the Secret is gone, or no resource refers to it any more. */
  secrets: ReadonlyMap<string, SecretData | undefined>
  generated: ReadonlyMap<string, GeneratedKey | undefined>
}

export function noChanges(): Changes {
  return { resources: new Map(), secrets: new Map(), generated: new Map() }
}

export type AnyResource = { [Name in KindName]: { kind: Name } & Resource<Specs[Name]> }[KindName]

export function isInvalid(found: AnyResource | InvalidResource): found is InvalidResource {
  return 'message' in found
}

/** What has changed in a Compiled: the new values by id, undefined if removed. */
export interface Touched {
  table: boolean
  keys: Map<string, KeyRecord | undefined>
  accounts: Map<string, AccountRecord | undefined>
  credits: Map<string, CreditPlan | undefined>
  /** By "Kind/namespace/name". */
  statuses: Map<string, ObjectStatus | undefined>
}

/**
 * The output of compile: records to publish, credits for the ledger, and statuses for people. In a cluster it is a live view:
 * the next change shows in it, also to a call that is still at work with it. See Compilation.apply.
 */
export interface Compiled {
  table: TableRecord
  /** By SHA-256 of the key. */
  keys: Map<string, KeyRecord>
  /** By objectId. */
  accounts: Map<string, AccountRecord>
  credits: CreditPlan[]
  /** One for each resource of the snapshot. */
  statuses: ObjectStatus[]
  /** When the same snapshot must be compiled again, in milliseconds since the epoch; Infinity: never. */
  until: number
}

/** A credit for the ledger, to be applied once per id. */
export interface CreditPlan {
  /** "namespace/name" of the Credit. */
  id: string
  /** Set by the API server; differs for a Credit that was re-created, which the ledger already has. */
  uid?: string
  /** objectId of the account that the ledger has; of a sub-account, its parent. */
  account: string
  /** objectId of the sub-account that gets the allowance. */
  sub?: string
  amount: Nanos
}

/** What compile says about one resource, independent of proxies and the ledger. */
export interface ObjectStatus {
  kind: KindName
  metadata: Metadata
  /** False: the resource is not published, and one of its conditions says why. */
  inForce: boolean
  conditions: readonly Judgement[]
  /** Other status fields. */
  fields: { preview?: string; secretName?: string; endpoints?: string[] }
}

/** By kind, then as byName(). */
export function byKindAndName(a: ObjectStatus, b: ObjectStatus): number {
  return KIND_NAMES.indexOf(a.kind) - KIND_NAMES.indexOf(b.kind) || byName(a, b)
}

/** By name, then namespace: an order that does not depend on how the snapshot was read. */
export function byName(a: { metadata: Metadata }, b: { metadata: Metadata }): number {
  return byText(a.metadata.name, b.metadata.name) || byText(a.metadata.namespace, b.metadata.namespace)
}

export const byText = (a: string, b: string) => (a < b ? -1 : a > b ? 1 : 0)

/** A condition without its time. */
export interface Judgement {
  type: ConditionType
  status: 'True' | 'False' | 'Unknown'
  observedGeneration: number
  reason: Reason
  message: string
}

/** What was written to the store and the ledger. */
export interface Published {
  compiled: Compiled
  /** Proxies that serve this generation serve all of `compiled`. */
  generation: number
  credits: AppliedCredits
}

/** A removal of most of the keys or routes at once. */
export interface Removal {
  /** Milliseconds since the epoch. */
  at: number
  /** How many were removed, for people. */
  message: string
  /** The first few namespaces that lost keys or routes. */
  namespaces: readonly string[]
}

/**
 * The worst first. evicts_all: Redis may evict balances, so no account is opened. evicts_volatile: it may evict what
 * expires by itself. not_persistent: a restart loses everything. The others: Redis does not report it.
 */
export const RISKS = [
  'evicts_all',
  'not_persistent',
  'evicts_volatile',
  'eviction_unknown',
  'persistence_unknown',
] as const
export type RiskKind = (typeof RISKS)[number]

/** A way in which the store may lose balances. */
export interface Risk {
  kind: RiskKind
  /** What may be lost and what to do, for people. */
  message: string
  /** "host:port" of each server, and the setting at fault. */
  servers: readonly string[]
}

export interface AppliedCredits {
  /** By id of the credit; absent if the ledger has not answered yet. */
  results: ReadonlyMap<string, CreditResult>
  /** By account id; absent if the ledger has not answered yet. */
  funds: ReadonlyMap<string, Funds>
  /** Ids of accounts that had credits or spending, but are missing in the ledger. They are not opened again. */
  lost: ReadonlySet<string>
  /** Ids of accounts that are not opened, because the store may evict balances. */
  withheld: ReadonlySet<string>
  /** Budgets and warnings of Accounts and ApiKeys, by "Kind/namespace/name"; absent if the ledger has not answered yet. */
  spending: ReadonlyMap<string, Spending>
}

export interface Spending {
  budgets: readonly BudgetFunds[]
  /** Which funds are low. */
  warnings: readonly string[]
}

/** A budget in its current period. */
export interface BudgetFunds {
  /** A glob; absent: all models. */
  model?: string
  most: Nanos
  spent: Nanos
  /** Milliseconds since the epoch. */
  renewsAt: number
}

export interface Funds {
  balance: Nanos
  held: Nanos
  /** Sum of all applied credits, including those of deleted Credits. */
  credited: Nanos
  spent: Nanos
}

/** A status as stored in the API server. */
export type FoundStatus = { conditions?: readonly Condition[] | undefined } & Record<string, unknown>

/** The facts about money in the statuses of resources when this process first saw them. The API server keeps them even if the
 * store loses its data.
 */
export interface Recorded {
  /** By "namespace/name"; undefined if the status has no funds. */
  account(name: string): Pick<Funds, 'credited' | 'spent'> | undefined
  /** The recorded result of a Credit ("namespace/name") that the ledger has applied. */
  credit(name: string): CreditResult | undefined
}

/**
 * applied, already: the ledger applied the credit now, or before. conflict: the id was used for another amount or account.
 * limit: the balance would exceed the limit of the ledger. closed: the ledger has lost the account. withheld: the account is
 * not opened.
 */
export interface CreditResult {
  outcome: 'applied' | 'already' | 'conflict' | 'limit' | 'closed' | 'withheld'
  /** When the ledger applied the credit, or was found to have it, in milliseconds since the epoch. */
  appliedAt?: number
}

/** How long changes of balances have waited to leave the store, in seconds; 0 while all is written. */
export interface BooksLag {
  journalSeconds: number
  checkpointSeconds: number
}

/** What the ledger keeps of one account, in nano-dollars. */
export interface LedgerAccount {
  accountId: string
  /** namespace/name */
  name: string
  credited: Nanos
  spent: Nanos
  lastEntry: string | undefined
}

export const DIMENSIONS = ['account', 'key', 'model', 'channel', 'tag', 'day'] as const
export type Dimension = (typeof DIMENSIONS)[number]

export interface UsageQuery {
  /** Days since 1970-01-01 (UTC), both included. */
  from: number
  to: number
  /** Tags are counted by account and day alone. */
  by: readonly Dimension[]
}

/** The values of the dimensions that were asked for, with what they used. Costs in nano-dollars. */
export interface UsageLine {
  of: Partial<Record<Dimension, string>>
  counts: Partial<Record<'requests' | 'errors' | 'cost' | 'upstreamCost' | keyof Usage, number>>
}
