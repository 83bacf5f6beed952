/** The state that all stages of one request share, from its arrival to its log line. */

import type { IncomingMessage } from 'node:http'
import type { Cancellation, Canceller } from '../../../kit/cancel.ts'
import type { Soon } from '../../../kit/soon.ts'
import type { Tags } from '../../../store/ledger/contract.ts'
import type { Caller } from '../../auth/authenticate.ts'
import type { GatewayError } from '../../errors.ts'
import { StoreTime } from '../../ledger/store-time.ts'
import type { ProxyMetrics } from '../../telemetry/metrics.ts'
import type { AttemptRecord, RequestLog, RequestRecord } from '../../telemetry/request-log.ts'
import { NO_TAGS } from './tags.ts'

/** A request as an entry point takes it. */
export interface Arrival {
  /** Name of the endpoint, for log and metrics. */
  endpoint: string
  requestId: string
  /** For a frame of a WebSocket: the request that opened the socket. */
  req: IncomingMessage
  /** Aborted when work must end early; its reason is ClientGone or the GatewayError for the client. */
  control: Canceller
  /** The HTTP status that was sent to the client; 0 before. */
  status(): number
  /** Log and count the request only when it fails. */
  failuresOnly?: boolean
}

type StageName = 'admit' | 'body' | 'parse' | 'converse' | 'hold' | 'deliver' | 'attempt' | 'settle'

/** Log and metrics of attempts. */
export interface AttemptReports {
  log: Pick<RequestLog, 'errorAnswer'>
  metrics: Pick<ProxyMetrics, 'attempt' | 'unpaid'>
}

/** A request whose caller is known. */
export type AdmittedContext = RequestContext & { readonly caller: Caller }

export class RequestContext {
  readonly id: string
  readonly req: IncomingMessage
  readonly record: RequestRecord
  readonly control: Canceller
  readonly reports: AttemptReports
  /** How long the request may still wait for the store. */
  readonly time: StoreTime
  readonly startedAt = performance.now()
  /** What the request is for; see tagsOf. */
  tags: Tags = NO_TAGS
  /** The error that the client got in an event, after a status of success. Logged like one that is thrown. */
  error: GatewayError | undefined
  readonly #ends: (() => void)[] = []

  constructor(
    { requestId, endpoint, req, control }: Arrival,
    reports: AttemptReports,
    time: StoreTime = new StoreTime(),
  ) {
    this.id = requestId
    this.req = req
    this.control = control
    this.reports = reports
    this.time = time
    this.record = newRecord(endpoint, requestId, req)
  }

  get cancel(): Cancellation {
    return this.control.signal
  }

  /**
   * Runs one stage. This is the place for a trace span: every stage passes here, nested ones too.
   */
  stage<T>(name: StageName, work: () => Promise<T>): Promise<T>
  stage<T>(name: StageName, work: () => Soon<T>): Soon<T>
  stage<T>(name: StageName, work: () => Soon<T>): Soon<T> {
    const { ms } = this.record
    // Overhead is the gateway's own work before the first call to an upstream. Waiting for the body is not.
    if (name === 'deliver') ms.overhead = elapsed(this.startedAt + (ms.body ?? 0))
    return work()
  }

  /** Notes how long the body took to arrive. */
  bodyRead(from: number): void {
    this.record.ms.body = elapsed(from)
  }

  /** Notes that the first byte of the answer is sent; later calls change nothing. */
  firstByte(): void {
    this.record.ms.firstEvent ??= elapsed(this.startedAt)
  }

  /** Notes an attempt that is over, in the log line and the metrics. */
  attempted(attempt: AttemptRecord): void {
    this.record.attempts.push(attempt)
    this.reports.metrics.attempt(attempt.channel, attempt.class)
  }

  /** Calls `release` when the request is over. */
  onEnd(release: () => void): void {
    this.#ends.push(release)
  }

  end(): void {
    for (const release of this.#ends) release()
  }
}

/** A log line without anything but the request's head. */
export function newRecord(endpoint: string, requestId: string, req: IncomingMessage): RequestRecord {
  return { requestId, traceparent: traceparentOf(req), endpoint, status: 0, attempts: [], ms: { total: 0 } }
}

/** Milliseconds to three decimals. */
export function elapsed(from: number, to: number = performance.now()): number {
  return Math.round((to - from) * 1_000) / 1_000
}

/** A valid W3C traceparent. Anything else is the client's text, which must not reach the log. */
function traceparentOf(req: IncomingMessage): string | undefined {
  const value = req.headers.traceparent
  return typeof value === 'string' && /^00-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}$/.test(value)
    ? value
    : undefined
}
