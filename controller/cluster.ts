/** The controller in a cluster: every replica watches; the one that holds the Lease publishes. */
import { z } from 'zod'
import type { AdminPage } from '../admin/server.ts'
import type { Environment } from '../contract/env.ts'
import type { Log } from '../contract/log.ts'
import type { Store } from '../store/contract.ts'
import { Alarm } from './alarm.ts'
import { secretCheckpoints } from './books/checkpoint-secrets.ts'
import type { JournalSink } from './books/journal-sink.ts'
import { Compilation } from './compile/compilation.ts'
import { compileSlice } from './compile/index.ts'
import { KeyMinter, type KeyWanted } from './keys/minter.ts'
import { EventRecorder } from './kube/events.ts'
import { Elector } from './kube/lease.ts'
import type { KubeClient } from './kube/types.ts'
import { Leader } from './lead.ts'
import { controllerPages } from './pages.ts'
import { warm } from './publish/changes.ts'
import { type Changes, type Compiled, type GeneratedKey, noChanges, type Touched } from './snapshot.ts'
import { ClusterSource } from './source/cluster/cluster.ts'
import { LIVE_MS, type ListedStatus } from './status/board.ts'
import { StatusWriter } from './status/writer.ts'
import { ControllerMetrics } from './telemetry/metrics.ts'

interface ClusterControllerOptions {
  store: Store
  kube: KubeClient
  env: Pick<
    Environment,
    'SLUICE_WATCH_NAMESPACES' | 'SLUICE_SECRET_LABEL_SELECTOR' | 'SLUICE_LEASE_NAME' | 'SLUICE_LEASE_DURATION'
  >
  /** Namespace of the Lease. */
  namespace: string
  /** Name of this process among its peers. */
  instance: string
  log: Log
  /** Takes every entry of the ledger while this process leads. */
  journal?: JournalSink | undefined
}

/** The parts that run while this process holds the Lease. */
interface Term {
  leader: Leader
  writer: StatusWriter
  minter: KeyMinter
}

export class ClusterController {
  readonly metrics: ControllerMetrics
  /** Pages of the admin port, by path. */
  readonly pages: Record<string, AdminPage>
  /** Resolves with the reason when the controller must stop; the caller then ends the process. */
  readonly ended: Promise<string>
  readonly #options: ClusterControllerOptions
  readonly #end = Promise.withResolvers<string>()
  readonly #source: ClusterSource
  readonly #elector: Elector
  readonly #events: EventRecorder
  readonly #alarm = new Alarm(Date.now, () => this.#take(noChanges()))
  #election: Promise<void> | undefined
  readonly #compilation = new Compilation(compileSlice)
  #latest: Compiled | undefined
  /** Keys to mint, by "namespace/name" of the ApiKey. */
  readonly #unmade = new Map<string, GeneratedKey>()
  #term: Term | undefined
  #stopped = false

  constructor(options: ClusterControllerOptions) {
    const { store, kube, env, namespace, instance, log } = options
    this.#options = options
    this.ended = this.#end.promise
    this.#source = new ClusterSource({
      client: kube,
      namespaces: env.SLUICE_WATCH_NAMESPACES,
      secretLabels: env.SLUICE_SECRET_LABEL_SELECTOR,
      log,
      onChanges: (changes) => this.#take(changes),
      onSeen: (id) => this.#term?.writer.seen(id),
    })
    this.#events = new EventRecorder({ client: kube, instance, log })
    this.#elector = new Elector({
      client: kube,
      namespace,
      name: env.SLUICE_LEASE_NAME,
      identity: instance,
      leaseMs: env.SLUICE_LEASE_DURATION,
      log,
      onLeading: () => this.#lead(),
    })
    this.metrics = new ControllerMetrics(env.SLUICE_LEASE_NAME, () => ({
      leading: this.leading(),
      epoch: this.#term?.leader.position?.epoch,
      generation: this.#term?.leader.position?.generation,
      proxies: this.#term?.leader.proxies.length ?? 0,
      risks: this.#term?.leader.risks.map(({ kind }) => kind) ?? [],
      lag: this.#term?.leader.lag,
      funds: this.#term?.leader.funds,
      informers: this.#source.health(),
    }))
    this.pages = controllerPages({
      instance,
      leading: () => this.leading(),
      position: () => this.#term?.leader.position,
      removal: () => this.#term?.leader.removal,
      risks: () => this.#term?.leader.risks ?? [],
      lag: () => this.#term?.leader.lag,
      ledger: () => this.#term?.leader.ledger(),
      usage: (query) => this.#term?.leader.usage(query),
      notReady: () => this.notReady(),
      proxies: () => store.config.heartbeats(LIVE_MS),
      compiled: () => this.#latest,
      statuses: async () => this.#term?.leader.statuses() ?? this.#found(),
    })
  }

  /**
   * Watches first, and joins the election when all resources are known. The API server and the store may become reachable
   * later.
   */
  start(): void {
    this.#election = this.#source
      .start()
      .then(() => (this.#stopped ? 'stopped' : this.#elector.run()))
      .then(
        (outcome) => {
          if (outcome === 'lost') this.#end.resolve('the Lease was lost')
        },
        (error: unknown) => {
          this.#options.log.error({ err: error }, 'the controller failed and stops')
          this.#end.resolve('of an error')
        },
      )
  }

  leading(): boolean {
    return this.#term !== undefined
  }

  /** What the controller is waiting for; undefined if it leads or stands by. */
  notReady(): string | undefined {
    if (this.#latest !== undefined) return undefined
    const unknown = this.#source.health().filter(({ synced }) => !synced)
    return `waiting for the API server: ${unknown.map(({ kind }) => kind).join(', ')}`
  }

  /** Stops all work and releases the Lease. */
  async stop(): Promise<void> {
    this.#stopped = true
    const term = this.#term
    this.#term = undefined
    this.#alarm.stop()
    await Promise.all([term?.leader.stop(), term?.writer.stop(), term?.minter.stop()])
    // The Lease first, because another replica waits for it.
    await this.#elector.release()
    await Promise.all([this.#source.stop(), this.#events.stop()])
    await this.#election
  }

  #take(changes: Changes): void {
    const { compiled, touched } = this.#compilation.apply(changes, Date.now())
    this.#latest = compiled
    this.#alarm.set(compiled.until)
    // Also on a standby: when it takes over, it compares all records.
    warm(touched.keys.values())
    warm(touched.accounts.values())
    for (const [id, generated] of changes.generated)
      if (generated?.state === 'absent') this.#unmade.set(id, generated)
      else this.#unmade.delete(id)
    if (this.#term !== undefined) this.#submit(this.#term, touched)
  }

  #lead(): void {
    const { store, kube, namespace, env, instance, log } = this.#options
    if (this.#stopped) return
    log.info({ instance }, 'this controller is now the leader')
    const leader = new Leader({
      store,
      log,
      now: Date.now,
      recorded: this.#source.recorded(),
      journal: this.#options.journal,
      checkpoints: secretCheckpoints(kube, namespace, env.SLUICE_LEASE_NAME),
      found: (id) => this.#source.found(id)?.status,
      onFenced: () => this.#end.resolve('another controller has taken over'),
      onChange: (ids) => this.#term?.writer.changed(ids),
      onAttempt: (outcome, seconds) => this.metrics.published(outcome, seconds),
      onRemoval: ({ message, namespaces }) =>
        void this.#warnOnLease('MostRemoved', `${message}; namespaces: ${namespaces.join(', ')}`),
      onRisk: ({ message, servers }) =>
        void this.#warnOnLease('StoreRisk', `${message} (${servers.join(', ')})`),
      onSpoilt: (spoilt) => this.metrics.spoilt(spoilt),
    })
    const writer = new StatusWriter({
      client: kube,
      wanted: (id) => leader.status(id),
      found: (id) => this.#source.found(id),
      events: this.#events,
      log,
      metrics: this.metrics.queue('status'),
    })
    const minter = new KeyMinter({
      client: kube,
      labels: env.SLUICE_SECRET_LABEL_SELECTOR,
      events: this.#events,
      log,
      metrics: this.metrics.queue('keys'),
    })
    this.#term = { leader, writer, minter }
    this.#submit(this.#term)
  }

  #submit({ leader, minter }: Term, touched?: Touched): void {
    if (this.#latest === undefined) return
    leader.submit(this.#latest, touched)
    minter.want(this.#keysWanted())
  }

  /** Records an event on the Lease, for what belongs to no resource: people look at the Lease. */
  async #warnOnLease(reason: 'MostRemoved' | 'StoreRisk', note: string): Promise<void> {
    const { kube, env, namespace, log } = this.#options
    const name = env.SLUICE_LEASE_NAME
    const path = `/apis/coordination.k8s.io/v1/namespaces/${namespace}/leases/${name}`
    try {
      const { uid } = z
        .object({ metadata: z.object({ uid: z.string() }) })
        .parse(await kube.request({ path })).metadata
      const regarding = { apiVersion: 'coordination.k8s.io/v1', kind: 'Lease', namespace, name, uid }
      this.#events.record({ regarding, type: 'Warning', reason, action: 'Publish', note })
    } catch (error) {
      log.warn({ err: error }, 'cannot write an event')
    }
  }

  #keysWanted(): KeyWanted[] {
    const wanted: KeyWanted[] = []
    for (const [id, { secretName }] of this.#unmade) {
      const found = this.#source.found(`ApiKey/${id}`)
      // A new Secret would delay the deletion of its ApiKey.
      if (found === undefined || found.deleting) continue
      const [namespace = '', name = ''] = id.split('/')
      const again = found.status?.secretName === secretName
      wanted.push({ namespace, name, uid: found.uid, secretName, again })
    }
    return wanted
  }

  /** The statuses that the leader has written, for a standby. */
  #found(): ListedStatus[] {
    return (this.#latest?.statuses ?? []).map(({ kind, metadata }) => {
      const { namespace, name, generation } = metadata
      const { conditions = [], ...fields } = this.#source.found(`${kind}/${namespace}/${name}`)?.status ?? {}
      return { kind, namespace, name, generation, status: { conditions, ...fields } }
    })
  }
}
