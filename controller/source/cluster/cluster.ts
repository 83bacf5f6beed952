/** The API server as a source of changes: five kinds and their Secrets, listed once and then watched. */
import type { z } from 'zod'
import {
  API_VERSION,
  KIND_NAMES,
  KINDS,
  type Kind,
  type KindName,
  type Specs,
} from '../../../contract/api/index.ts'
import type { Log } from '../../../contract/log.ts'
import { parseDollars } from '../../../contract/money.ts'
import { type Change, Reflector } from '../../kube/reflector.ts'
import { type KubeClient, keyOf } from '../../kube/types.ts'
import type { AnyResource, Changes, GeneratedKey, InvalidResource, Recorded } from '../../snapshot.ts'
import { Coalescer } from './coalescer.ts'
import { type Kept, keepObject } from './object.ts'
import { generatedSecretName, generatesKey, secretsNamedBy } from './references.ts'
import type { KeptSecret } from './secrets.ts'
import { WatchedSecrets } from './watched-secrets.ts'

interface ClusterOptions {
  client: KubeClient
  /** Namespaces to watch; none: all. */
  namespaces: readonly string[]
  /** Labels of the Secrets to read; none: all Secrets. */
  secretLabels: Readonly<Record<string, string>>
  log: Log
  /**
   * Called with all resources when every kind is known, then with changes. If it throws, the same changes come again with
   * the next ones.
   */
  onChanges: (changes: Changes) => void
  /** Called when the watch reports a new version, or the deletion, of a resource ("ApiKey/namespace/name"). */
  onSeen?: (id: string) => void
}

/** State of the watches of one kind. */
interface KindHealth {
  kind: KindName | 'Secret'
  synced: boolean
  lastEventAgeMs: number
  resources: number
}

type KeptByKind = { [Name in KindName]: Kept<Specs[Name], Name> }
type Kinds = { [Name in KindName]: Reflector<KeptByKind[Name]>[] }

/** Time until an unreadable Secret is read again. */
const READ_AGAIN_MS = 500

export class ClusterSource {
  readonly #options: ClusterOptions
  readonly #kinds: Kinds
  readonly #secrets: WatchedSecrets
  readonly #coalescer: Coalescer
  /** Ids of resources, and names of Secrets, for the next changes. */
  #changedIds = new Set<string>()
  #changedSecrets = new Set<string>()
  /** Ids of resources passed to onChanges. */
  readonly #delivered = new Set<string>()
  #synced = false
  #stopped = false

  constructor(options: ClusterOptions) {
    const { client, log } = options
    this.#options = options
    this.#coalescer = new Coalescer(() => this.#emit())
    this.#kinds = {
      ApiKey: this.#follow('ApiKey', KINDS.ApiKey),
      Account: this.#follow('Account', KINDS.Account),
      Credit: this.#follow('Credit', KINDS.Credit),
      Channel: this.#follow('Channel', KINDS.Channel),
      ModelRoute: this.#follow('ModelRoute', KINDS.ModelRoute),
    }
    this.#secrets = new WatchedSecrets({
      client,
      log,
      paths: this.#paths('/api/v1', 'secrets'),
      labels: options.secretLabels,
      changed: (names) => {
        if (!this.#synced) return
        for (const name of names) this.#changedSecrets.add(name)
        this.#coalescer.trigger()
      },
    })
  }

  /** Resolves when everything is known and was passed to onChanges; waits for the API server. */
  async start(): Promise<void> {
    const kinds = Object.values(this.#kinds).flat()
    for (const reflector of kinds) reflector.start()
    await Promise.all(kinds.map(({ synced }) => synced))
    if (this.#stopped) return
    // Only now is it known which Secrets matter.
    const { named, reflectors } = this.#secrets
    for (const id of this.#ids()) named.set(id, this.#namesIn(id))
    for (const reflector of reflectors) reflector.start()
    await Promise.all(reflectors.map(({ synced }) => synced))
    if (this.#stopped) return
    this.#synced = true
    this.#changedIds = new Set(this.#ids())
    this.#changedSecrets = new Set(named.secrets())
    await this.#emit()
  }

  async stop(): Promise<void> {
    this.#stopped = true
    this.#coalescer.stop()
    const all = [...Object.values(this.#kinds).flat(), ...this.#secrets.reflectors]
    await Promise.all(all.map((reflector) => reflector.stop()))
  }

  /** A resource in the API server, by "Kind/namespace/name". */
  found(id: string): Pick<Kept<unknown>, 'uid' | 'status' | 'deleting'> | undefined {
    return this.#kept(id)
  }

  /** What the statuses say about money. */
  recorded(): Recorded {
    return {
      account: (name) => {
        const status = this.found(`Account/${name}`)?.status
        const { credited, spent } = status ?? {}
        if (typeof credited !== 'string' || typeof spent !== 'string') return undefined
        return { credited: parseDollars(credited), spent: parseDollars(spent) }
      },
      credit: (name) => {
        const { appliedAt, conditions = [] } = this.found(`Credit/${name}`)?.status ?? {}
        if (typeof appliedAt !== 'string') return undefined
        const before = conditions.some(({ reason }) => reason === 'AlreadyApplied')
        return { outcome: before ? 'already' : 'applied', appliedAt: Date.parse(appliedAt) }
      },
    }
  }

  health(): KindHealth[] {
    const groups: [KindHealth['kind'], readonly Reflector<unknown>[]][] = [
      ...KIND_NAMES.map((name): [KindName, Reflector<unknown>[]] => [name, this.#kinds[name]]),
      ['Secret', this.#secrets.reflectors],
    ]
    return groups.map(([kind, reflectors]) => {
      const healths = reflectors.map((reflector) => reflector.health())
      return {
        kind,
        synced: healths.every(({ synced }) => synced),
        lastEventAgeMs: Math.max(...healths.map(({ lastEventAgeMs }) => lastEventAgeMs)),
        resources: reflectors.reduce((sum, { size }) => sum + size, 0),
      }
    })
  }

  #follow<Name extends KindName>(
    name: Name,
    kind: Kind<z.ZodType<Specs[Name]>>,
  ): Reflector<Kept<Specs[Name], Name>>[] {
    const { client, log } = this.#options
    return this.#paths(`/apis/${API_VERSION}`, kind.plural).map((path) => {
      const reflector: Reflector<Kept<Specs[Name], Name>> = new Reflector({
        client,
        path,
        log,
        keep: (object) => {
          const old = reflector.get(keyOf(object))
          const kept = keepObject(name, kind, object, old)
          const fields = kept.unknownFields?.join(', ') ?? ''
          if (fields !== '' && fields !== old?.unknownFields?.join(', '))
            log.warn({ kind: name, resource: keyOf(object), fields }, 'ignoring fields of a newer CRD')
          return kept
        },
        changed: (changes) => this.#changed(name, changes),
      })
      return reflector
    })
  }

  #paths(base: string, plural: string): string[] {
    const { namespaces } = this.#options
    if (namespaces.length === 0) return [`${base}/${plural}`]
    return namespaces.map((namespace) => `${base}/namespaces/${namespace}/${plural}`)
  }

  #changed<Spec>(name: KindName, changes: readonly Change<Kept<Spec>>[]): void {
    // The first changes contain all resources.
    if (!this.#synced) return
    const relevant = changes.filter(changesResource)
    for (const { key } of relevant) this.#changedIds.add(`${name}/${key}`)
    if (relevant.length > 0) this.#coalescer.trigger()
    for (const { key } of changes) this.#options.onSeen?.(`${name}/${key}`)
  }

  #get<Name extends KindName>(name: Name, key: string): KeptByKind[Name] | undefined {
    for (const reflector of this.#kinds[name]) {
      const kept = reflector.get(key)
      if (kept !== undefined) return kept
    }
    return undefined
  }

  #kept(id: string): KeptByKind[KindName] | undefined {
    for (const name of KIND_NAMES) if (kindIn(id) === name) return this.#get(name, keyIn(id))
    return undefined
  }

  async #emit(): Promise<void> {
    if (!this.#synced || this.#stopped) return
    const { named } = this.#secrets
    const [ids, secrets] = [this.#changedIds, this.#changedSecrets]
    this.#changedIds = new Set()
    this.#changedSecrets = new Set()
    const names = new Map([...ids].map((id) => [id, this.#namesIn(id)]))
    const resources = new Map([...ids].map((id) => [id, this.#found(id)]))
    const known = [...secrets].filter((name) => named.has(name))
    const unread = await this.#secrets.readMissing([...names.values(), new Set(known)])
    if (this.#stopped) return
    for (const [id, references] of names) {
      // With an unreadable Secret, the resource stays as it was delivered last.
      const held = this.#delivered.has(id) && [...references].some((name) => unread.has(name))
      if (held) resources.delete(id)
      else for (const name of named.set(id, references)) secrets.add(name)
      if (held) this.#changedIds.add(id)
    }
    for (const name of [...unread, ...secrets]) if (this.#secrets.lacks(name)) this.#changedSecrets.add(name)
    if (unread.size > 0 || this.#changedSecrets.size > 0) this.#coalescer.triggerIn(READ_AGAIN_MS)
    for (const name of secrets)
      for (const id of named.namersOf(name))
        if (!this.#changedIds.has(id)) resources.set(id, resources.get(id) ?? this.#found(id))
    const changes = {
      resources,
      secrets: this.#secrets.contentsOf(secrets),
      generated: this.#generatedOf(resources.keys()),
    }
    try {
      this.#options.onChanges(changes)
    } catch (error) {
      // The resources in force stay, and the next attempt may succeed.
      this.#options.log.error({ err: error }, 'changes from the API server could not be processed')
      for (const id of resources.keys()) this.#changedIds.add(id)
      for (const name of secrets) this.#changedSecrets.add(name)
      return
    }
    for (const [id, found] of resources)
      if (found === undefined) this.#delivered.delete(id)
      else this.#delivered.add(id)
  }

  #namesIn(id: string): ReadonlySet<string> {
    const resource = this.#kept(id)?.resource
    return resource === undefined ? new Set() : secretsNamedBy(resource)
  }

  *#ids(): Generator<string> {
    for (const name of KIND_NAMES)
      for (const reflector of this.#kinds[name])
        for (const { resource, invalid } of reflector.values()) {
          const metadata = resource?.metadata ?? invalid?.metadata
          if (metadata !== undefined) yield `${name}/${metadata.namespace}/${metadata.name}`
        }
  }

  #generatedOf(ids: Iterable<string>): Map<string, GeneratedKey | undefined> {
    const generated = new Map<string, GeneratedKey | undefined>()
    for (const id of ids) if (id.startsWith('ApiKey/')) generated.set(keyIn(id), this.#generated(keyIn(id)))
    return generated
  }

  #found(id: string): AnyResource | InvalidResource | undefined {
    const kept = this.#kept(id)
    return kept?.resource ?? kept?.invalid
  }

  #generated(key: string): GeneratedKey | undefined {
    const kept = this.#get('ApiKey', key)
    if (kept?.resource === undefined || !generatesKey(kept.resource.spec)) return undefined
    const { namespace, name } = kept.resource.metadata
    const secretName = generatedSecretName(name)
    const state = stateFor({ name, uid: kept.uid }, this.#secrets.get(`${namespace}/${secretName}`))
    return { secretName, state }
  }
}

/** False if only the status changes. */
function changesResource<Spec>(change: Change<Kept<Spec>>): boolean {
  if (change.type === 'removed') return true
  const { object, old } = change
  return old === undefined || object.resource !== old.resource || object.invalid !== old.invalid
}

function stateFor(
  apiKey: { name: string; uid: string },
  secret: KeptSecret | undefined,
): GeneratedKey['state'] {
  const owner = secret?.owner
  if (owner?.uid === apiKey.uid) return 'made'
  // The Secret of an earlier ApiKey with this name is about to be deleted with it.
  const leaving = owner?.kind === 'ApiKey' && owner.name === apiKey.name
  return secret === undefined || leaving ? 'absent' : 'foreign'
}

/** "namespace/name" */
const keyIn = (id: string) => id.slice(id.indexOf('/') + 1)
const kindIn = (id: string) => id.slice(0, id.indexOf('/'))
