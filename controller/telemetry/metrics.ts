/** Metrics of the controller. Queues and requests use the names that dashboards for controllers expect. */
import { Counter, Gauge, Histogram, Registry } from 'prom-client'
import { addProcessMetrics } from '../../admin/process-metrics.ts'
import { RISKS, type RiskKind } from '../snapshot.ts'
import { FundsGauges, type FundsReading } from './funds.ts'

/** Values of gauges, read at each scrape. */
interface Readings {
  leading: boolean
  epoch: number | undefined
  generation: number | undefined
  proxies: number
  /** In which ways the store may lose balances, as far as a leader knows. */
  risks: readonly RiskKind[]
  /** Undefined for a standby. */
  lag: { journalSeconds: number; checkpointSeconds: number } | undefined
  /** Undefined while none is known. */
  funds: FundsReading | undefined
  /** Of a folder; undefined in a cluster. */
  problems?: number
  informers: { kind: string; synced: boolean; lastEventAgeMs: number; resources: number }[]
}

export class ControllerMetrics {
  readonly registry = new Registry()
  readonly #publications = this.#counter(
    'sluice_publications_total',
    'Attempts to bring the store up to date, by result.',
    ['result'],
  )
  readonly #publishSeconds = new Histogram({
    name: 'sluice_publish_seconds',
    help: 'Duration of an attempt to bring the store up to date.',
    buckets: [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10],
    registers: [this.registry],
  })
  readonly #repairs = this.#counter(
    'sluice_store_repairs_total',
    'Records in the store that were not as written, found and written again.',
    ['kind'],
  )
  readonly #requests = this.#counter('rest_client_requests_total', 'Requests to the API server.', [
    'method',
    'code',
  ])
  readonly #reconciles = this.#counter('controller_runtime_reconcile_total', 'Items processed, by result.', [
    'controller',
    'result',
  ])
  readonly #depth = this.#gauge('workqueue_depth', 'Items waiting in the queue.', ['name'])
  readonly #adds = this.#counter('workqueue_adds_total', 'Items added to the queue.', ['name'])
  readonly #retries = this.#counter('workqueue_retries_total', 'Items retried after a failure.', ['name'])
  readonly #waited = this.#histogram(
    'workqueue_queue_duration_seconds',
    'Time that an item waited in the queue.',
  )
  readonly #worked = this.#histogram('workqueue_work_duration_seconds', 'Time to process an item.')

  /** `read` is called at each scrape. */
  constructor(leaseName: string, read: () => Readings) {
    addProcessMetrics(this.registry)
    this.spoilt({ table: 0, key: 0, account: 0 })
    // This gauge is registered first: its `collect` sets the others, too.
    const own = new Gauge({
      name: 'sluice_controller_leader',
      help: 'Whether this controller leads.',
      registers: [this.registry],
      collect: () => {
        const { leading, informers, risks, lag, funds, ...numbers } = read()
        money.show(funds)
        journal.set(lag?.journalSeconds ?? 0)
        checkpoint.set(lag?.checkpointSeconds ?? 0)
        own.set(leading ? 1 : 0)
        lease.set({ name: leaseName }, leading ? 1 : 0)
        epoch.set(numbers.epoch ?? 0)
        generation.set(numbers.generation ?? 0)
        proxies.set(numbers.proxies)
        problems.set(numbers.problems ?? 0)
        for (const kind of RISKS) risk.set({ risk: kind }, risks.includes(kind) ? 1 : 0)
        for (const { kind, ...informer } of informers) {
          synced.set({ kind }, informer.synced ? 1 : 0)
          age.set({ kind }, informer.lastEventAgeMs / 1_000)
          resources.set({ kind }, informer.resources)
        }
      },
    })
    const lease = this.#gauge('leader_election_master_status', 'Whether this process holds the Lease.', [
      'name',
    ])
    const epoch = this.#gauge(
      'sluice_controller_epoch',
      'Epoch of the current term of leadership; 0 if not leading.',
    )
    const generation = this.#gauge('sluice_table_generation', 'Generation of the last publication.')
    const proxies = this.#gauge('sluice_proxies_live', 'Live proxies, as seen by the leader.')
    const journal = this.#gauge(
      'sluice_journal_lag_seconds',
      'How long entries of the ledger have waited because they cannot be written to the journal; 0 while they can.',
    )
    const checkpoint = this.#gauge(
      'sluice_checkpoint_lag_seconds',
      'How long the oldest change of a balance has waited to be saved outside the store.',
    )
    const risk = this.#gauge(
      'sluice_store_risk',
      'Whether the store may lose balances in this way, as seen by the leader.',
      ['risk'],
    )
    const problems = this.#gauge(
      'sluice_folder_problems',
      'Problems with documents in the folder of resources; a folder that cannot be read counts as one.',
    )
    const money = new FundsGauges(this.registry)
    const synced = this.#gauge(
      'sluice_informer_synced',
      'Whether all resources of a kind have been listed.',
      ['kind'],
    )
    const age = this.#gauge(
      'sluice_informer_last_event_age_seconds',
      'Time since the API server last sent anything about a kind.',
      ['kind'],
    )
    const resources = this.#gauge('sluice_resources', 'Number of known resources.', ['kind'])
  }

  published(result: string, seconds: number): void {
    this.#publications.inc({ result })
    this.#publishSeconds.observe(seconds)
  }

  spoilt(spoilt: Readonly<Record<string, number>>): void {
    for (const [kind, count] of Object.entries(spoilt)) this.#repairs.inc({ kind }, count)
  }

  requested(method: string, status: number): void {
    this.#requests.inc({ method, code: status === 0 ? '<error>' : String(status) })
  }

  /** Metrics of the queue with this name. */
  queue(name: string) {
    this.#depth.set({ name }, 0)
    return {
      depth: (items: number) => this.#depth.set({ name }, items),
      added: () => this.#adds.inc({ name }),
      retried: () => this.#retries.inc({ name }),
      waited: (seconds: number) => this.#waited.observe({ name }, seconds),
      worked: (seconds: number, result: 'success' | 'error') => {
        this.#worked.observe({ name }, seconds)
        this.#reconciles.inc({ controller: name, result })
      },
    }
  }

  #counter(name: string, help: string, labelNames: string[] = []): Counter {
    return new Counter({ name, help, labelNames, registers: [this.registry] })
  }

  #gauge(name: string, help: string, labelNames: string[] = []): Gauge {
    return new Gauge({ name, help, labelNames, registers: [this.registry] })
  }

  #histogram(name: string, help: string): Histogram {
    const buckets = [0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1, 5, 10, 60]
    return new Histogram({ name, help, labelNames: ['name'], buckets, registers: [this.registry] })
  }
}
