/** The API server as a source of snapshots: five kinds and their Secrets, listed once and then watched. */
import type { z } from 'zod'
import { API_VERSION, KINDS, type Kind, type KindName, type Resource } from '../../../contract/api/index.ts'
import type { Log } from '../../../contract/log.ts'
import { parseDollars } from '../../../contract/money.ts'
import { type Change, Reflector } from '../../kube/reflector.ts'
import { type KubeClient, keyOf } from '../../kube/types.ts'
import type { GeneratedKey, InvalidResource, Recorded, SecretData, Snapshot } from '../../snapshot.ts'
import { Coalescer } from './coalescer.ts'
import { type Kept, keepObject, type Specs } from './object.ts'
import { generatedSecretName, generatesKey, secretsNamedBy } from './references.ts'
import { type KeptSecret, keepSecret, SecretReader } from './secrets.ts'

export interface ClusterOptions {
  client: KubeClient
  /** Namespaces to watch; none: all. */
  namespaces: readonly string[]
  log: Log
  /**
   * Called with all there is, first when every kind is known, then whenever something changed.
   */
  onSnapshot: (snapshot: Snapshot) => void
  /** Called when the API server has told of a new version, or of the end, of a resource ("ApiKey/namespace/name"). */
  onSeen?: (id: string) => void
}

/** How one kind is followed. */
export interface KindHealth {
  kind: KindName | 'Secret'
  synced: boolean
  lastEventAgeMs: number
  resources: number
}

type Kinds = { [Name in KindName]: Reflector<Kept<Specs[Name]>>[] }

/** Until a Secret that could not be read is tried again. */
const READ_AGAIN_MS = 500

export class ClusterSource {
  readonly #options: ClusterOptions
  readonly #kinds: Kinds
  readonly #secrets: Reflector<KeptSecret>[]
  readonly #reader: SecretReader
  readonly #coalescer: Coalescer
  #named = new Set<string>()
  #synced = false
  #stopped = false

  constructor(options: ClusterOptions) {
    const { client, log } = options
    this.#options = options
    this.#reader = new SecretReader(client, log)
    this.#coalescer = new Coalescer(() => this.#emit())
    this.#kinds = {
      ApiKey: this.#follow('ApiKey', KINDS.ApiKey),
      Account: this.#follow('Account', KINDS.Account),
      Credit: this.#follow('Credit', KINDS.Credit),
      Channel: this.#follow('Channel', KINDS.Channel),
      ModelRoute: this.#follow('ModelRoute', KINDS.ModelRoute),
    }
    this.#secrets = this.#paths('/api/v1', 'secrets').map((path) => {
      const reflector: Reflector<KeptSecret> = new Reflector({
        client,
        path,
        // Releases of Helm are large and no keys.
        fieldSelector: 'type!=helm.sh/release.v1',
        log,
        keep: (object) => keepSecret(object, this.#named.has(keyOf(object)), reflector.get(keyOf(object))),
        changed: (changes) => {
          if (this.#synced && changes.some(({ key }) => this.#named.has(key))) this.#coalescer.trigger()
        },
      })
      return reflector
    })
  }

  /** Resolves when everything is known and the first snapshot was handed on; not while the API server is away. */
  async start(): Promise<void> {
    const kinds = Object.values(this.#kinds).flat()
    for (const reflector of kinds) reflector.start()
    await Promise.all(kinds.map(({ synced }) => synced))
    if (this.#stopped) return
    // Only now, when it is known which of them matter.
    this.#named = this.#secretNames()
    for (const reflector of this.#secrets) reflector.start()
    await Promise.all(this.#secrets.map(({ synced }) => synced))
    if (this.#stopped) return
    this.#synced = true
    await this.#emit()
  }

  async stop(): Promise<void> {
    this.#stopped = true
    this.#coalescer.stop()
    const all = [...Object.values(this.#kinds).flat(), ...this.#secrets]
    await Promise.all(all.map((reflector) => reflector.stop()))
  }

  /** What the API server has of a resource, by "Kind/namespace/name". */
  found(id: string): Pick<Kept<unknown>, 'uid' | 'status' | 'deleting'> | undefined {
    const slash = id.indexOf('/')
    const key = id.slice(slash + 1)
    for (const name of KIND_NAMES) if (id.slice(0, slash) === name) return this.#get(name, key)
    return undefined
  }

  /** What statuses say of money. */
  recorded(): Recorded {
    return {
      account: (name) => {
        const status = this.found(`Account/${name}`)?.status
        const { credited, spent } = status ?? {}
        if (typeof credited !== 'string' || typeof spent !== 'string') return undefined
        return { credited: parseDollars(credited), spent: parseDollars(spent) }
      },
      credit: (name) => {
        const appliedAt = this.found(`Credit/${name}`)?.status?.appliedAt
        return typeof appliedAt === 'string' ? Date.parse(appliedAt) : undefined
      },
    }
  }

  health(): KindHealth[] {
    const groups: [KindHealth['kind'], Reflector<unknown>[]][] = [
      ...KIND_NAMES.map((name): [KindName, Reflector<unknown>[]] => [name, this.#kinds[name]]),
      ['Secret', this.#secrets],
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
  ): Reflector<Kept<Specs[Name]>>[] {
    const { client, log } = this.#options
    return this.#paths(`/apis/${API_VERSION}`, kind.plural).map((path) => {
      const reflector: Reflector<Kept<Specs[Name]>> = new Reflector({
        client,
        path,
        log,
        keep: (object) => keepObject(name, kind, object, reflector.get(keyOf(object))),
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
    // The first snapshot has all of it.
    if (!this.#synced) return
    if (changes.some(saysOtherwise)) this.#coalescer.trigger()
    for (const { key } of changes) this.#options.onSeen?.(`${name}/${key}`)
  }

  #get<Name extends KindName>(name: Name, key: string): Kept<Specs[Name]> | undefined {
    for (const reflector of this.#kinds[name]) {
      const kept = reflector.get(key)
      if (kept !== undefined) return kept
    }
    return undefined
  }

  async #emit(): Promise<void> {
    if (!this.#synced || this.#stopped) return
    const before = this.#named
    this.#named = this.#secretNames()
    for (const name of before) if (!this.#named.has(name)) this.#forget(name)
    await this.#readMissing()
    if (this.#stopped) return
    try {
      this.#options.onSnapshot(this.#snapshot())
    } catch (error) {
      // The next change may fare better; what is in force stays.
      this.#options.log.error({ err: error }, 'what the API server says could not be taken over')
    }
  }

  /** Nobody reads it any more, so its contents are not kept. */
  #forget(name: string): void {
    const kept = this.#secret(name)
    if (kept !== undefined) kept.data = undefined
  }

  #secretNames(): Set<string> {
    return secretsNamedBy(this.#resources('ApiKey'), this.#resources('Channel'))
  }

  /** Reads Secrets that came before the resource that names them. */
  async #readMissing(): Promise<void> {
    const unread = [...this.#named].filter((name) => {
      const kept = this.#secret(name)
      return kept !== undefined && kept.data === undefined
    })
    await Promise.all(
      unread.map(async (name) => {
        const read = await this.#reader.read(name)
        const kept = this.#secret(name)
        if (kept === undefined || kept.data !== undefined) return
        if (read !== undefined) Object.assign(kept, read)
        else this.#coalescer.triggerIn(READ_AGAIN_MS)
      }),
    )
  }

  #secret(name: string): KeptSecret | undefined {
    for (const reflector of this.#secrets) {
      const kept = reflector.get(name)
      if (kept !== undefined) return kept
    }
    return undefined
  }

  *#resources<Name extends KindName>(name: Name): Generator<Resource<Specs[Name]>> {
    for (const reflector of this.#kinds[name])
      for (const { resource } of reflector.values()) if (resource !== undefined) yield resource
  }

  *#invalid(): Generator<InvalidResource> {
    for (const reflector of Object.values(this.#kinds).flat())
      for (const { invalid } of reflector.values()) if (invalid !== undefined) yield invalid
  }

  #snapshot(): Snapshot {
    const secrets = new Map<string, SecretData>()
    for (const name of this.#named) {
      const data = this.#secret(name)?.data
      if (data !== undefined) secrets.set(name, data)
    }
    return {
      apiKeys: [...this.#resources('ApiKey')],
      accounts: [...this.#resources('Account')],
      credits: [...this.#resources('Credit')],
      channels: [...this.#resources('Channel')],
      modelRoutes: [...this.#resources('ModelRoute')],
      secrets,
      generated: this.#generated(),
      invalid: [...this.#invalid()],
    }
  }

  #generated(): Map<string, GeneratedKey> {
    const generated = new Map<string, GeneratedKey>()
    for (const reflector of this.#kinds.ApiKey)
      for (const { resource, uid } of reflector.values()) {
        if (resource === undefined || !generatesKey(resource.spec)) continue
        const { namespace, name } = resource.metadata
        const secretName = generatedSecretName(name)
        const state = stateFor({ name, uid }, this.#secret(`${namespace}/${secretName}`))
        generated.set(`${namespace}/${name}`, { secretName, state })
      }
    return generated
  }
}

/** False for a change of the status alone. */
function saysOtherwise<Spec>(change: Change<Kept<Spec>>): boolean {
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
  // That of an earlier ApiKey of this name is deleted with it, a moment later.
  const leaving = owner?.kind === 'ApiKey' && owner.name === apiKey.name
  return secret === undefined || leaving ? 'absent' : 'foreign'
}

const KIND_NAMES: readonly KindName[] = ['ApiKey', 'Account', 'Credit', 'Channel', 'ModelRoute']
