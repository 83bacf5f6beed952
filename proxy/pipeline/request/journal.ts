/** The life of a request, written once: its start, its work, its end in log and metrics. */
import { GatewayError } from '../../errors.ts'
import { StoreTime } from '../../ledger/store-time.ts'
import type { ProxyMetrics, RequestFacts } from '../../telemetry/metrics.ts'
import { mask, type RequestLog, type RequestRecord } from '../../telemetry/request-log.ts'
import { ClientGone } from './client.ts'
import { type Arrival, elapsed, newRecord, RequestContext } from './context.ts'

/** nginx logs this status for a client that left before its answer; never sent. */
const CLIENT_CLOSED = 499
/** Names of fields are short; a longer one is the client's text. */
const MAX_PARAM = 200

/** A request that is refused before any stage runs. */
interface Refused extends Pick<Arrival, 'endpoint' | 'requestId' | 'req'> {
  /** Known fields of the caller. */
  known?: Partial<RequestRecord>
}

export class Journal {
  readonly #log: Pick<RequestLog, 'write' | 'errorAnswer'>
  readonly #metrics: Pick<ProxyMetrics, 'finished' | 'attempt' | 'unpaid'>
  readonly #storeMs: number | undefined

  /** `storeMs`: see StoreTime. */
  constructor(
    log: Pick<RequestLog, 'write' | 'errorAnswer'>,
    metrics: Pick<ProxyMetrics, 'finished' | 'attempt' | 'unpaid'>,
    storeMs?: number,
  ) {
    this.#log = log
    this.#metrics = metrics
    this.#storeMs = storeMs
  }

  /**
   * Runs a request in a context of its own; logs and counts it when it is over, however it ends. Rejects with the
   * GatewayError for the client. Resolves if the client left.
   */
  async run(arrival: Arrival, work: (ctx: RequestContext) => Promise<void>): Promise<void> {
    const reports = { log: this.#log, metrics: this.#metrics }
    const ctx = new RequestContext(arrival, reports, new StoreTime(this.#storeMs))
    try {
      await work(ctx)
    } catch (error) {
      if (error instanceof ClientGone) ctx.record.outcome = 'client_gone'
      else {
        ctx.error = GatewayError.from(error)
        throw ctx.error
      }
    } finally {
      ctx.end()
      if (ctx.error !== undefined || arrival.failuresOnly !== true)
        this.#finish(ctx.record, arrival.status(), ctx.startedAt, ctx.error)
    }
  }

  /** Logs and counts a request that was refused before any stage ran. */
  refused({ endpoint, requestId, req, known = {} }: Refused, error: GatewayError): void {
    const record = { ...newRecord(endpoint, requestId, req), ...known }
    this.#finish(record, 0, performance.now(), error)
  }

  /** `sent`: the HTTP status that the client got; 0 for none. `error`: the client got it, or is about to get it. */
  #finish(record: RequestRecord, sent: number, startedAt: number, error: GatewayError | undefined): void {
    record.status = sent || (error?.status ?? CLIENT_CLOSED)
    record.code = error?.code
    if (error?.param != null) record.param = mask(error.param, []).slice(0, MAX_PARAM)
    record.ms.total = elapsed(startedAt)
    this.#log.write(record)
    this.#metrics.finished(factsOf(record, error))
  }
}

function factsOf(record: RequestRecord, error: GatewayError | undefined): RequestFacts {
  const { ms } = record
  return {
    endpoint: record.endpoint,
    model: record.route ?? 'unknown',
    status: record.relay !== undefined && error === undefined ? classOf(record.status) : record.status,
    error: errorOf(error, record),
    durationSeconds: ms.total / 1_000,
    overheadSeconds: ms.overhead === undefined ? undefined : ms.overhead / 1_000,
    firstTokenSeconds: record.stream && ms.firstEvent !== undefined ? ms.firstEvent / 1_000 : undefined,
    usage: record.usage,
  }
}

/**
 * A bad end that is not an error of the gateway: the client gave up, or its body broke. Nor is a status of an upstream
 * that the relay forwards.
 */
function errorOf(error: GatewayError | undefined, { status, outcome }: RequestRecord): RequestFacts['error'] {
  if (error !== undefined) return { code: error.code, domain: error.entry.domain }
  return status < 400 || outcome === 'finished' ? undefined : { code: 'client_gone', domain: 'caller' }
}

/** Without classes, each status that a foreign upstream chooses would become a series. */
function classOf(status: number): string {
  return status >= 200 && status < 600 ? `${Math.floor(status / 100)}xx` : 'other'
}
