/**
 * Incremental compilation. A change recompiles only what depends on it: the keys that share a value or an account with a
 * changed resource, the credits of an account, the channels and routes of a namespace. These are compiled as if they were
 * everything, and the result replaces their previous one.
 */
import { objectId, ownAccountId } from '../../contract/ids.ts'
import type { TableRecord } from '../../contract/table/records.ts'
import { Multimap } from '../../kit/multimap.ts'
import type {
  AnyResource,
  Changes,
  Compiled,
  CreditPlan,
  GeneratedKey,
  InvalidResource,
  ObjectStatus,
  SecretData,
  Snapshot,
  Touched,
} from '../snapshot.ts'
import { addTo, emptySnapshot, isInvalid } from '../snapshot.ts'
import type { Slice } from './index.ts'
import { earliest, tableFrom } from './index.ts'

type Found = AnyResource | InvalidResource

export class Compilation {
  readonly #compile: (snapshot: Snapshot, now: number) => Slice
  /** All resources by "Kind/namespace/name". */
  readonly #resources = new Map<string, Found>()
  readonly #secrets = new Map<string, SecretData>()
  readonly #generated = new Map<string, GeneratedKey>()
  /** Ids of Channels and ModelRoutes by namespace. */
  readonly #routing = new Multimap<string, string>()
  /** Ids of ApiKeys, Credits and sub-accounts by the id of their Account. */
  readonly #payers = new Multimap<string, string>()
  /** SHA-256 of the keys of each ApiKey, in force or not, and the reverse. */
  readonly #claims = new Map<string, readonly string[]>()
  readonly #claimants = new Multimap<string, string>()

  /** When an ApiKey must be compiled again. */
  readonly #untils = new Map<string, number>()

  readonly #keys: Compiled['keys'] = new Map()
  readonly #accounts: Compiled['accounts'] = new Map()
  readonly #credits = new Map<string, CreditPlan>()
  readonly #statuses = new Map<string, ObjectStatus>()
  readonly #namespaces = new Map<string, TableRecord['namespaces'][string]>()
  #table = tableFrom(new Map())

  /** `compile`: see compileSlice. */
  constructor(compile: (snapshot: Snapshot, now: number) => Slice) {
    this.#compile = compile
  }

  /** All current resources. */
  snapshot(): Snapshot {
    return this.#snapshotOf(this.#resources.keys())
  }

  /**
   * Takes changes, and compiles them and the keys whose state changes with time, at `now` (milliseconds since the epoch).
   * The next call changes the maps in `compiled`, but not `touched`.
   */
  apply(changes: Changes, now: number): { compiled: Compiled; touched: Touched } {
    for (const [name, data] of changes.secrets) put(this.#secrets, name, data)
    for (const [name, generated] of changes.generated) put(this.#generated, name, generated)
    const dirty = new Dirty()
    for (const [id, found] of changes.resources) this.#replace(id, found, dirty)
    for (const [id, until] of this.#untils) if (until <= now) dirty.ids.add(id)
    return { touched: this.#settle(dirty, now), compiled: this.#compiled() }
  }

  #replace(id: string, found: Found | undefined, dirty: Dirty): void {
    const old = this.#resources.get(id)
    if (old !== undefined) this.#index(id, old, 'remove')
    put(this.#resources, id, found)
    if (found !== undefined) this.#index(id, found, 'add')
    const { kind, namespace } = placeOf(id)
    dirty.ids.add(id)
    if (kind === 'Channel' || kind === 'ModelRoute') dirty.namespaces.add(namespace)
    if (kind === 'Account') this.#addPayers(id, dirty)
    if (kind === 'ApiKey' && found === undefined) this.#claim(id, [], dirty)
  }

  /** Everything that depends on an account, through its sub-accounts too. */
  #addPayers(account: string, dirty: Dirty): void {
    for (const payer of this.#payers.get(account)) {
      const isNew = !dirty.ids.has(payer)
      dirty.ids.add(payer)
      if (isNew && placeOf(payer).kind === 'Account') this.#addPayers(payer, dirty)
    }
  }

  #index(id: string, found: Found, change: 'add' | 'remove'): void {
    const { kind, namespace } = placeOf(id)
    if (kind === 'Channel' || kind === 'ModelRoute') this.#routing[change](namespace, id)
    const account = accountOf(found)
    if (account !== undefined) this.#payers[change](account, id)
  }

  /** Updates the keys that an ApiKey claims. All ApiKeys with the same keys, old or new, are compiled again. */
  #claim(id: string, hashes: readonly string[], dirty: Dirty): void {
    const before = this.#claims.get(id) ?? []
    for (const hash of [...before, ...hashes]) {
      dirty.hashes.add(hash)
      for (const other of this.#claimants.get(hash)) dirty.ids.add(other)
    }
    for (const hash of before) this.#claimants.remove(hash, id)
    for (const hash of hashes) this.#claimants.add(hash, id)
    if (hashes.length > 0) this.#claims.set(id, hashes)
    else this.#claims.delete(id)
  }

  #settle(dirty: Dirty, now: number): Touched {
    for (const namespace of dirty.namespaces) for (const id of this.#routing.get(namespace)) dirty.ids.add(id)
    const { compiled, untils } = this.#compileAll(dirty, now)
    const touched: Touched = {
      table: this.#takeTable(compiled, dirty.namespaces),
      keys: new Map(),
      accounts: new Map(),
      credits: new Map(),
      statuses: new Map(),
    }
    const statuses = new Map(compiled.statuses.map((status) => [statusIdOf(status), status]))
    const credits = new Map(compiled.credits.map((plan) => [plan.id, plan]))
    for (const id of dirty.ids) {
      take(this.#statuses, id, statuses.get(id), touched.statuses)
      const { kind, namespace, name } = placeOf(id)
      if (kind === 'ApiKey') put(this.#untils, id, untils.get(`${namespace}/${name}`))
      const account = kind === 'ApiKey' ? ownAccountId(namespace, name) : objectId(namespace, name)
      if (kind === 'Account' || kind === 'ApiKey')
        take(this.#accounts, account, compiled.accounts.get(account), touched.accounts)
      const credit = `${namespace}/${name}`
      if (kind === 'Credit') take(this.#credits, credit, credits.get(credit), touched.credits)
    }
    for (const hash of dirty.hashes) take(this.#keys, hash, compiled.keys.get(hash), touched.keys)
    return touched
  }

  /** Compiles everything dirty, and repeats this if that reveals keys that other ApiKeys have. */
  #compileAll(dirty: Dirty, now: number): Slice {
    for (;;) {
      const ids = [...dirty.ids]
      const slice = this.#compile(this.#snapshotOf(this.#withAccounts(ids)), now)
      for (const [name, hashes] of slice.claims) this.#claim(`ApiKey/${name}`, hashes, dirty)
      for (const id of ids)
        if (this.#claims.has(id) && !slice.claims.has(id.slice('ApiKey/'.length))) this.#claim(id, [], dirty)
      if (dirty.ids.size === ids.length) return slice
    }
  }

  /** Adds the accounts that these resources refer to, because their conditions depend on them. */
  *#withAccounts(ids: readonly string[]): Generator<string> {
    const known = new Set(ids)
    yield* ids
    for (const id of ids) {
      for (let account = this.#accountOf(id); account !== undefined; account = this.#accountOf(account)) {
        if (known.has(account)) break
        known.add(account)
        yield account
      }
    }
  }

  #accountOf(id: string): string | undefined {
    const found = this.#resources.get(id)
    return found && accountOf(found)
  }

  #snapshotOf(ids: Iterable<string>): Snapshot {
    const snapshot = { ...emptySnapshot(), secrets: this.#secrets, generated: this.#generated }
    for (const id of ids) {
      const found = this.#resources.get(id)
      if (found === undefined) continue
      if (isInvalid(found)) snapshot.invalid.push(found)
      else addTo(snapshot, found)
    }
    return snapshot
  }

  #takeTable(compiled: Compiled, namespaces: ReadonlySet<string>): boolean {
    if (namespaces.size === 0) return false
    const made = new Map(Object.entries(compiled.table.namespaces))
    for (const namespace of namespaces) put(this.#namespaces, namespace, made.get(namespace))
    this.#table = tableFrom(this.#namespaces)
    return true
  }

  #compiled(): Compiled {
    const [credits, statuses] = [this.#credits, this.#statuses]
    return {
      table: this.#table,
      keys: this.#keys,
      accounts: this.#accounts,
      until: earliest(this.#untils),
      get credits() {
        return [...credits.values()]
      },
      get statuses() {
        return [...statuses.values()]
      },
    }
  }
}

/** Everything that must be compiled again. */
class Dirty {
  readonly ids = new Set<string>()
  readonly namespaces = new Set<string>()
  /** SHA-256 of keys whose owner may have changed. */
  readonly hashes = new Set<string>()
}

function put<K, V>(map: Map<K, V>, key: K, value: V | undefined): void {
  if (value === undefined) map.delete(key)
  else map.set(key, value)
}

function take<V>(
  current: Map<string, V>,
  id: string,
  value: V | undefined,
  touched: Map<string, V | undefined>,
): void {
  if (current.get(id) === value) return
  put(current, id, value)
  touched.set(id, value)
}

const statusIdOf = ({ kind, metadata }: ObjectStatus) => `${kind}/${metadata.namespace}/${metadata.name}`

/** "Account/namespace/name" of the account that an ApiKey, a Credit or a sub-account refers to. */
function accountOf(found: Found): string | undefined {
  if (isInvalid(found)) return undefined
  const reference =
    found.kind === 'Account'
      ? found.spec.parent
      : found.kind === 'ApiKey' || found.kind === 'Credit'
        ? found.spec.accountRef
        : undefined
  return reference && `Account/${found.metadata.namespace}/${reference.name}`
}

function placeOf(id: string): { kind: string; namespace: string; name: string } {
  const [kind = '', namespace = '', name = ''] = id.split('/')
  return { kind, namespace, name }
}
