/**
 * Metrics of a proxy. Names follow OpenTelemetry's GenAI conventions in Prometheus form, beside `sluice_*`. Labels
 * are configured names and closed sets only: text from clients never becomes a series.
 */
import { Counter, Gauge, Registry } from 'prom-client'
import { addProcessMetrics } from '../../admin/process-metrics.ts'
import { totalInput, type Usage } from '../../contract/usage.ts'
import type { ErrorCode, FaultDomain } from '../errors.ts'
import { CountedSeries, ObservedSeries } from './series.ts'

const NANOS_PER_DOLLAR = 1_000_000_000

const SECONDS = [
  0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92, 163.84, 327.68,
  655.36,
]
const FIRST_TOKEN_SECONDS = [
  0.001, 0.005, 0.01, 0.02, 0.04, 0.06, 0.08, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10, 30, 60,
]
const OVERHEAD_SECONDS = [0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.5]
const TOKENS = [1, 4, 16, 64, 256, 1024, 4096, 16384, 65536, 262144, 1048576, 4194304, 16777216, 67108864]

/** The facts of a finished request. `model` is the ModelRoute's model, or `unknown`. */
export interface RequestFacts {
  endpoint: string
  model: string
  /** For an answer of the relay's upstream a class such as 4xx. */
  status: number | string
  error?: { code: ErrorCode | 'client_gone'; domain: FaultDomain } | undefined
  durationSeconds: number
  /** The gateway's own time before the upstream was called. */
  overheadSeconds?: number | undefined
  firstTokenSeconds?: number | undefined
  usage?: Usage | undefined
}

/** Values that are read at each scrape. */
export interface ProxyGauges {
  inFlight(): number
  sockets(): number
  relayed(): number
  draining(): number
  /** Bytes that bodies take, by the requests that they belong to. */
  bodyMemory(): Record<'requests' | 'relay', number>
  holds(): number
  unsettled(): number
  generation(): number
  tableAgeSeconds(): number
  storeAvailable(): boolean
  /** Channels that are ejected: namespace/name. */
  ejected(): string[]
}

export class ProxyMetrics {
  readonly registry = new Registry()
  readonly #duration = this.#histogram(
    'gen_ai_server_request_duration_seconds',
    'Duration of requests.',
    SECONDS,
    ['gen_ai_operation_name', 'gen_ai_request_model', 'error_type'],
  )
  readonly #firstToken = this.#histogram(
    'gen_ai_server_time_to_first_token_seconds',
    'Time until the first event of a stream was sent to the client.',
    FIRST_TOKEN_SECONDS,
    ['gen_ai_operation_name', 'gen_ai_request_model'],
  )
  readonly #tokens = this.#histogram('gen_ai_client_token_usage', 'Tokens of a request.', TOKENS, [
    'gen_ai_operation_name',
    'gen_ai_request_model',
    'gen_ai_token_type',
  ])
  readonly #overhead = this.#histogram(
    'sluice_request_overhead_seconds',
    'Time spent in the gateway before the upstream was called, without reading the body.',
    OVERHEAD_SECONDS,
    ['endpoint'],
  )
  readonly #requests = this.#counted(
    'sluice_requests_total',
    'Requests by outcome. domain is the side at fault: caller, policy, upstream or gateway.',
    'endpoint',
    'status',
    'code',
    'domain',
  )
  readonly #attempts = this.#counted(
    'sluice_upstream_attempts_total',
    'Attempts on a channel; class is `ok` or the class of the failure.',
    'channel',
    'class',
  )
  readonly #unpaid = this.#counter(
    'sluice_upstream_attempts_unpaid_total',
    'Attempts that failed after the upstream had the whole request and had not refused it: it may bill for them, and no account is charged.',
    'channel',
  )
  readonly ledgerFailures = this.#counter(
    'sluice_ledger_failures_total',
    'Ledger operations that failed or timed out in the store.',
    'operation',
  )
  readonly tableFailures = this.#counter(
    'sluice_table_read_failures_total',
    'Reads of table or records that failed; the last good ones stay in force.',
  )
  readonly unreadable = this.#counter(
    'sluice_records_unreadable_total',
    'Stored tables and records that did not open or parse, or were too old; the last good ones stay in force.',
    'kind',
  )
  readonly #cost = this.#counted(
    'sluice_cost_dollars_total',
    'Costs of answers in dollars, by ModelRoute and channel.',
    'model',
    'channel',
  )
  readonly #tokensByKind = this.#counted(
    'sluice_tokens_total',
    'Tokens, images and calls of hosted tools, by kind; reasoning is a part of output.',
    'kind',
  )
  readonly #usageLost = this.#counter(
    'sluice_usage_lost_total',
    'Requests of keys without an account that are missing in the usage, because the store was away.',
  )
  readonly #usageClamped = this.#counter(
    'sluice_usage_clamped_total',
    'Answers whose upstream claimed more tokens than the context window or four times the output limit; charged by these bounds.',
    'model',
    'channel',
  )
  readonly #usageUnpriced = this.#counter(
    'sluice_usage_unpriced_total',
    'Answers with a kind of usage that has no price on the route: tokens are charged as a more expensive kind, calls are not.',
    'model',
    'kind',
  )
  readonly drained = this.#counter(
    'sluice_drains_total',
    'Calls whose client left and whose upstream was read on for its usage; result: finished, timed_out, or refused because too many drained.',
    'result',
  )
  readonly limited = this.#counter(
    'sluice_rate_limited_total',
    'Requests refused by a limit of a key or an account (of), on requests, tokens, or requests at a time (limit).',
    'of',
    'limit',
  )
  readonly heldAgain = this.#counter(
    'sluice_holds_restored_total',
    'Renewals that found holds of requests in flight lost or expired, and took them again.',
  )
  readonly deadSettles = this.#counter(
    'sluice_settles_dead_lettered_total',
    'Costs that will never be charged; the program log has a line for each.',
    'reason',
  )
  readonly stateFailures = this.#counter(
    'sluice_conversations_not_stored_total',
    'Answers that could not be stored, so that later requests cannot continue them by id.',
  )
  readonly droppedLines = this.#counter(
    'sluice_request_log_dropped_total',
    'Lines of the request log that are missing in the store; standard output has them.',
  )
  readonly swaps = this.#counter('sluice_table_swaps_total', 'Tables that were put in force.')

  /** `recordKinds`: kinds of stored records; each is a series from the start. */
  constructor(recordKinds: readonly string[]) {
    addProcessMetrics(this.registry)
    for (const kind of recordKinds) this.unreadable.inc({ kind }, 0)
  }

  /** Adds the gauges of the parts of a proxy. To be called once. */
  read(gauges: ProxyGauges): void {
    this.#gauge('sluice_requests_in_flight', 'Requests being served.', gauges.inFlight)
    this.#gauge('sluice_sockets', 'WebSockets of clients that are open.', gauges.sockets)
    this.#gauge('sluice_relayed_in_flight', 'Relayed requests in flight.', gauges.relayed)
    this.#gauge('sluice_calls_draining', 'Calls that go on after their client has left.', gauges.draining)

    this.#gauge('sluice_holds', 'Holds that are not settled yet.', gauges.holds)
    this.#gauge('sluice_settle_queue', 'Settles that wait for the store.', gauges.unsettled)
    this.#gauge(
      'sluice_table_generation',
      'Generation of the newest publication in force.',
      gauges.generation,
      'min',
    )
    this.#gauge(
      'sluice_table_age_seconds',
      'Time since the store was last known to have no newer table.',
      gauges.tableAgeSeconds,
      'max',
    )
    this.#gauge(
      'sluice_store_available',
      '1 while the store answers.',
      () => (gauges.storeAvailable() ? 1 : 0),
      'min',
    )
    new Gauge({
      name: 'sluice_body_memory_bytes',
      help: 'Memory that the bodies of requests in flight take.',
      labelNames: ['of'],
      registers: [this.registry],
      collect() {
        for (const [of, bytes] of Object.entries(gauges.bodyMemory())) this.set({ of }, bytes)
      },
    })
    new Gauge({
      name: 'sluice_channel_ejected',
      help: '1 for a channel that is ejected after failures.',
      labelNames: ['channel'],
      aggregator: 'max',
      registers: [this.registry],
      collect() {
        this.reset()
        for (const channel of gauges.ejected()) this.set({ channel }, 1)
      },
    })
  }

  finished(facts: RequestFacts): void {
    const { endpoint, model, status, error, usage, overheadSeconds, firstTokenSeconds } = facts
    this.#duration.observe(facts.durationSeconds, endpoint, model, error?.code ?? '')
    this.#requests.add(1, endpoint, status, error?.code ?? 'ok', error?.domain ?? 'none')
    if (overheadSeconds !== undefined) this.#overhead.observe(overheadSeconds, endpoint)
    if (firstTokenSeconds !== undefined) this.#firstToken.observe(firstTokenSeconds, endpoint, model)
    if (usage !== undefined) {
      this.#tokens.observe(totalInput(usage), endpoint, model, 'input')
      this.#tokens.observe(usage.output, endpoint, model, 'output')
    }
  }

  attempt(channel: string, outcome: string): void {
    this.#attempts.add(1, channel, outcome)
  }

  unpaid(channel: string): void {
    this.#unpaid.inc({ channel })
  }

  /** `model`: the name of the ModelRoute. Cost in nano-dollars. */
  charged(model: string, channel: string, { cost, usage }: { cost: number; usage: Usage }): void {
    if (cost > 0) this.#cost.add(cost / NANOS_PER_DOLLAR, model, channel)
    for (const kind in usage) {
      const count = usage[kind as keyof Usage] ?? 0
      if (count > 0) this.#tokensByKind.add(count, kind)
    }
  }

  usageLost(requests: number): void {
    this.#usageLost.inc(requests)
  }

  usageUnpriced(model: string, kind: string): void {
    this.#usageUnpriced.inc({ model, kind })
  }

  usageClamped(model: string, channel: string): void {
    this.#usageClamped.inc({ model, channel })
  }

  #histogram<L extends string>(name: string, help: string, buckets: number[], labelNames: L[]) {
    return new ObservedSeries<L>({ name, help, buckets, labelNames, registers: [this.registry] })
  }

  #counted<L extends string>(name: string, help: string, ...labelNames: L[]) {
    return new CountedSeries<L>({ name, help, labelNames, registers: [this.registry] })
  }

  #counter<L extends string>(name: string, help: string, ...labelNames: L[]): Counter<L> {
    return new Counter({ name, help, labelNames, registers: [this.registry] })
  }

  /** `ofWorkers`: what the value of all workers is. */
  #gauge(name: string, help: string, read: () => number, ofWorkers: 'sum' | 'min' | 'max' = 'sum'): void {
    new Gauge({
      name,
      help,
      aggregator: ofWorkers,
      registers: [this.registry],
      collect() {
        this.set(read())
      },
    })
  }
}
