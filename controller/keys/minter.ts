/**
 * Creates the Secrets of ApiKeys that do not refer to a key. Each is created once, owned by its ApiKey, and never changed.
 * Kubernetes deletes it with its owner.
 */
import { API_VERSION, GROUP } from '../../contract/api/index.ts'
import { mintKey } from '../../contract/key-format.ts'
import type { Log } from '../../contract/log.ts'
import type { EventRecorder } from '../kube/events.ts'
import { type KubeClient, KubeError } from '../kube/types.ts'
import { type QueueMetrics, WorkQueue } from '../kube/workqueue.ts'

const CONCURRENCY = 4
/** The watch reports a new Secret within this time; if it does not, the Secret was deleted again. */
const SEEN_WITHIN_MS = 5_000

/** An ApiKey whose Secret does not exist. */
export interface KeyWanted {
  namespace: string
  name: string
  uid: string
  secretName: string
  /** True if there was one before, which was deleted. */
  again: boolean
}

export interface MinterOptions {
  client: KubeClient
  /** Additional labels for the Secrets: the controller may only read Secrets that have them. */
  labels: Readonly<Record<string, string>>
  events: Pick<EventRecorder, 'record'>
  log: Log
  metrics?: QueueMetrics
}

export class KeyMinter {
  readonly #options: MinterOptions
  readonly #queue: WorkQueue<string>
  #wanted = new Map<string, KeyWanted>()
  /** When a Secret was created, by performance.now(). */
  readonly #madeAt = new Map<string, number>()

  constructor(options: MinterOptions) {
    this.#options = options
    this.#queue = new WorkQueue({
      name: 'keys',
      concurrency: CONCURRENCY,
      work: (key) => this.#mint(key),
      log: options.log,
      ...(options.metrics && { metrics: options.metrics }),
    })
  }

  /** Takes all ApiKeys whose Secret does not exist now. */
  want(wanted: readonly KeyWanted[]): void {
    this.#wanted = new Map(wanted.map((key) => [`${key.namespace}/${key.name}`, key]))
    for (const id of this.#wanted.keys()) this.#queue.add(id)
    for (const id of this.#madeAt.keys()) if (!this.#wanted.has(id)) this.#madeAt.delete(id)
  }

  stop(): Promise<void> {
    return this.#queue.stop()
  }

  async #mint(id: string): Promise<void> {
    const wanted = this.#wanted.get(id)
    if (wanted === undefined) return
    const { namespace, name, uid, secretName, again } = wanted
    const since = performance.now() - (this.#madeAt.get(id) ?? Number.NEGATIVE_INFINITY)
    if (since < SEEN_WITHIN_MS) return this.#queue.addAfter(id, SEEN_WITHIN_MS - since)
    try {
      await this.#options.client.request({
        method: 'POST',
        path: `/api/v1/namespaces/${namespace}/secrets`,
        body: secretOf(wanted, mintKey(), this.#options.labels),
      })
    } catch (error) {
      // Another controller created it, or it has another owner. The watch shows which, unless the label selector hides it.
      if (error instanceof KubeError && error.status === 409) {
        if (Object.keys(this.#options.labels).length > 0)
          this.#options.log.warn(
            { namespace, name, secret: secretName },
            `ApiKey/${name}: the Secret ${secretName} exists; if the key stays pending, the Secret lacks the labels of SLUICE_SECRET_LABEL_SELECTOR`,
          )
        return
      }
      throw error
    }
    this.#madeAt.set(id, performance.now())
    const note = again
      ? `the Secret ${secretName} was deleted: it was created again with a new key, and the old key is refused`
      : `the key is in the Secret ${secretName}`
    this.#options.log.info({ namespace, name, secret: secretName }, `ApiKey/${name}: ${note}`)
    this.#options.events.record({
      regarding: { apiVersion: API_VERSION, kind: 'ApiKey', namespace, name, uid },
      type: again ? 'Warning' : 'Normal',
      reason: again ? 'KeyReplaced' : 'KeyCreated',
      action: 'CreateSecret',
      note,
    })
  }
}

function secretOf(
  { namespace, name, uid, secretName }: KeyWanted,
  key: string,
  labels: Readonly<Record<string, string>>,
): object {
  return {
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: {
      namespace,
      name: secretName,
      labels: { 'app.kubernetes.io/managed-by': 'sluice', [`${GROUP}/secret`]: 'true', ...labels },
      ownerReferences: [
        { apiVersion: API_VERSION, kind: 'ApiKey', name, uid, controller: true, blockOwnerDeletion: true },
      ],
    },
    type: 'Opaque',
    data: { key: Buffer.from(key).toString('base64') },
  }
}
