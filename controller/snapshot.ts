/** Everything that compile reads: all resources of the five kinds and the Secrets that they may name. */
import type {
  AccountSpec,
  ApiKeySpec,
  ChannelSpec,
  CreditSpec,
  KindName,
  Metadata,
  ModelRouteSpec,
  Resource,
} from '../contract/api/index.ts'

export interface Snapshot {
  apiKeys: Resource<ApiKeySpec>[]
  accounts: Resource<AccountSpec>[]
  credits: Resource<CreditSpec>[]
  channels: Resource<ChannelSpec>[]
  modelRoutes: Resource<ModelRouteSpec>[]
  /** "namespace/name" to the Secret's decoded entries. */
  secrets: Map<string, SecretData>
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
