/**
 * The data that the steps of the controller hand on: what is read (Snapshot), what is made of it
 * (Compiled) and what became of that (Published).
 */
import type {
  AccountSpec,
  ApiKeySpec,
  ChannelSpec,
  Condition,
  ConditionType,
  CreditSpec,
  KindName,
  Metadata,
  ModelRouteSpec,
  Reason,
  Resource,
} from '../contract/api/index.ts'
import type { Nanos } from '../contract/money.ts'
import type { AccountRecord, KeyRecord, TableRecord } from '../contract/table/records.ts'

/** Everything that compile reads: all resources of the five kinds and the Secrets that they may name. */
export interface Snapshot {
  apiKeys: Resource<ApiKeySpec>[]
  accounts: Resource<AccountSpec>[]
  credits: Resource<CreditSpec>[]
  channels: Resource<ChannelSpec>[]
  modelRoutes: Resource<ModelRouteSpec>[]
  /** "namespace/name" to the Secret's decoded entries. */
  secrets: Map<string, SecretData>
  /**
   * "namespace/name" of each ApiKey that names no key of its own to the Secret that is made for it; undefined where
   * none are made.
   */
  generated?: ReadonlyMap<string, GeneratedKey>
  /** Resources that exist but do not parse: they get Accepted=False and take no part. */
  invalid: InvalidResource[]
}

/** Entries of a Secret; a class, so that logging or serialising one shows its entries' names and nothing else. */
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

/** The Secret that holds a key which the controller made. */
export interface GeneratedKey {
  secretName: string
  /** `absent`: not made yet; `foreign`: a Secret of this name belongs to somebody else and is not touched. */
  state: 'made' | 'absent' | 'foreign'
}

export interface InvalidResource {
  kind: KindName
  metadata: Metadata
  /** What is wrong and what to change. */
  message: string
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

/** What became different since the changes before; at first, everything. */
export interface Changes {
  /**
   * "Kind/namespace/name" to what stands there now, undefined when it is gone: resources that changed, and those that
   * name a Secret which did.
   */
  resources: ReadonlyMap<string, AnyResource | InvalidResource | undefined>
  /** See Snapshot; undefined: the Secret is gone, or no resource names it any more. */
  secrets: ReadonlyMap<string, SecretData | undefined>
  generated: ReadonlyMap<string, GeneratedKey | undefined>
}

export function noChanges(): Changes {
  return { resources: new Map(), secrets: new Map(), generated: new Map() }
}

export type AnyResource =
  | ({ kind: 'ApiKey' } & Resource<ApiKeySpec>)
  | ({ kind: 'Account' } & Resource<AccountSpec>)
  | ({ kind: 'Credit' } & Resource<CreditSpec>)
  | ({ kind: 'Channel' } & Resource<ChannelSpec>)
  | ({ kind: 'ModelRoute' } & Resource<ModelRouteSpec>)

export function isInvalid(found: AnyResource | InvalidResource): found is InvalidResource {
  return 'message' in found
}

/** What became different in a Compiled: ids to what stands there now, undefined for what is gone. */
export interface Touched {
  table: boolean
  keys: Map<string, KeyRecord | undefined>
  accounts: Map<string, AccountRecord | undefined>
  credits: Map<string, CreditPlan | undefined>
  /** By "Kind/namespace/name". */
  statuses: Map<string, ObjectStatus | undefined>
}

/** Everything that compile makes of a Snapshot: what is published, what goes to the ledger, and what people are told. */
export interface Compiled {
  table: TableRecord
  /** By SHA-256 of the key. */
  keys: Map<string, KeyRecord>
  /** By objectId. */
  accounts: Map<string, AccountRecord>
  credits: CreditPlan[]
  /** One for each resource of the snapshot. */
  statuses: ObjectStatus[]
  /** From this moment on, in milliseconds since the epoch, the same snapshot gives something else; Infinity: never. */
  until: number
}

/** A credit that the ledger is to take, once by its id. */
export interface CreditPlan {
  /** "namespace/name" of the Credit. */
  id: string
  /** The API server's: another one for a Credit that was made anew, and was taken before. */
  uid?: string
  /** objectId of the Account. */
  account: string
  amount: Nanos
}

/** What compile says of one resource: nothing that depends on who serves it. */
export interface ObjectStatus {
  kind: KindName
  metadata: Metadata
  /** False: nothing of it is published, and one of its conditions says why. */
  inForce: boolean
  conditions: Judgement[]
  /** Status fields beside the conditions. */
  fields: { preview?: string; secretName?: string; endpoints?: string[] }
}

/** A condition without its time. */
export interface Judgement {
  type: ConditionType
  status: 'True' | 'False' | 'Unknown'
  observedGeneration: number
  reason: Reason
  message: string
}

/** What the store and the ledger have taken. */
export interface Published {
  compiled: Compiled
  /** Proxies that serve this generation serve all of `compiled`. */
  generation: number
  credits: AppliedCredits
}

/** Most of the keys or routes went at once. */
export interface Removal {
  /** Milliseconds since the epoch. */
  at: number
  /** How many of how many, for people. */
  message: string
  /** Those that have lost some of them; the first few. */
  namespaces: readonly string[]
}

export interface AppliedCredits {
  /** By the credit's id; none for a credit that the ledger was not asked about yet. */
  results: ReadonlyMap<string, CreditResult>
  /** By account id; none for an account that the ledger has not answered for yet. */
  funds: ReadonlyMap<string, Funds>
  /** Ids of accounts that had credits or spending and that the ledger no longer knows. They are not opened again. */
  lost: ReadonlySet<string>
}

export interface Funds {
  balance: Nanos
  held: Nanos
  /** Sum of the credits that the ledger has taken, removed ones included. */
  credited: Nanos
  spent: Nanos
}

/** A status as the API server has it. */
export type FoundStatus = { conditions?: Condition[] | undefined } & Record<string, unknown>

/**
 * What the statuses of resources said when this process first saw them: kept by the API server, whatever becomes of
 * the store.
 */
export interface Recorded {
  /** By "namespace/name"; undefined when nothing was written of its funds. */
  account(name: string): Pick<Funds, 'credited' | 'spent'> | undefined
  /** What the ledger said of a Credit ("namespace/name") that it has. */
  credit(name: string): CreditResult | undefined
}

/**
 * A credit was taken now or before, or refused: because its id stands for another amount or account, or because the
 * balance would exceed what the ledger counts (limit), or because the ledger has lost the account (closed).
 */
export interface CreditResult {
  outcome: 'applied' | 'already' | 'conflict' | 'limit' | 'closed'
  /** When the ledger took it, or was found to have it, in milliseconds since the epoch. */
  appliedAt?: number
}
