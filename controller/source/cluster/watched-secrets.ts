/** The watch on Secrets. It keeps the contents of those that a resource refers to. */
import type { Log } from '../../../contract/log.ts'
import { Reflector } from '../../kube/reflector.ts'
import { type KubeClient, keyOf } from '../../kube/types.ts'
import type { SecretData } from '../../snapshot.ts'
import { NamedSecrets } from './named.ts'
import { type KeptSecret, keepSecret, readSecret } from './secrets.ts'

interface SecretWatch {
  client: KubeClient
  log: Log
  /** API paths of the lists to watch. */
  paths: readonly string[]
  /** Labels of the Secrets to read; none: all Secrets. */
  labels: Readonly<Record<string, string>>
  /** Called with the names ("namespace/name") of changed Secrets that a resource refers to. */
  changed: (names: string[]) => void
}

export class WatchedSecrets {
  /** Which resources refer to which Secrets. */
  readonly named = new NamedSecrets()
  readonly reflectors: readonly Reflector<KeptSecret>[]
  readonly #options: SecretWatch

  constructor(options: SecretWatch) {
    const { client, log, paths, labels, changed } = options
    this.#options = options
    const labelSelector = Object.entries(labels)
      .map(([name, value]) => `${name}=${value}`)
      .join(',')
    this.reflectors = paths.map((path) => {
      const reflector: Reflector<KeptSecret> = new Reflector({
        client,
        path,
        // Helm releases are large and contain no keys.
        fieldSelector: 'type!=helm.sh/release.v1',
        labelSelector,
        log,
        keep: (object) => keepSecret(object, this.named.has(keyOf(object)), reflector.get(keyOf(object))),
        changed: (changes) => {
          const named = changes.filter(({ key }) => this.named.has(key))
          if (named.length > 0) changed(named.map(({ key }) => key))
        },
      })
      return reflector
    })
  }

  get(name: string): KeptSecret | undefined {
    for (const reflector of this.reflectors) {
      const kept = reflector.get(name)
      if (kept !== undefined) return kept
    }
    return undefined
  }

  /** True for a Secret that exists and is referred to, but whose contents were dropped because it was not before. */
  lacks(name: string): boolean {
    return this.named.has(name) && isEmpty(this.get(name))
  }

  /** Reads Secrets that appeared before the resource that refers to them. Returns those that could not be read. */
  async readMissing(names: Iterable<ReadonlySet<string>>): Promise<Set<string>> {
    const missing = new Set<string>()
    for (const named of names) for (const name of named) if (isEmpty(this.get(name))) missing.add(name)
    const unread = new Set<string>()
    await Promise.all([...missing].map(async (name) => void ((await this.#read(name)) || unread.add(name))))
    return unread
  }

  /** False if the Secret could not be read and still lacks its contents. */
  async #read(name: string): Promise<boolean> {
    const { client, log } = this.#options
    try {
      const read = await readSecret(client, name)
      const kept = this.get(name)
      if (isEmpty(kept)) Object.assign(kept, read)
      return true
    } catch (error) {
      log.warn({ err: error, secret: name }, 'a Secret could not be read; will retry')
      return !isEmpty(this.get(name))
    }
  }

  /** Contents of these Secrets; undefined if gone or no longer referred to, in which case the contents are dropped. */
  contentsOf(names: Iterable<string>): Map<string, SecretData | undefined> {
    const secrets = new Map<string, SecretData | undefined>()
    for (const name of names) {
      const kept = this.get(name)
      if (kept !== undefined && !this.named.has(name)) kept.data = undefined
      secrets.set(name, kept?.data)
    }
    return secrets
  }
}

/** A Secret that exists, without its contents. */
function isEmpty(kept: KeptSecret | undefined): kept is KeptSecret {
  return kept !== undefined && kept.data === undefined
}
