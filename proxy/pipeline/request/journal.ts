/** What is written down of a request: who called, how it ended. */
import type { IncomingMessage } from 'node:http'
import { authenticate, type Caller } from '../../auth/authenticate.ts'
import { clientAddress } from '../../auth/client-address.ts'
import type { GatewayError } from '../../errors.ts'
import type { StoreTime } from '../../ledger/store-time.ts'
import type { RequestFacts } from '../../telemetry/metrics.ts'
import { mask, type RequestRecord } from '../../telemetry/request-log.ts'
import type { Gateway } from '../gateway.ts'

/** What nginx logs for a client that left before it was answered; never sent. */
const CLIENT_CLOSED = 499
/** Names of fields are short; what is longer is a client's text. */
const MAX_PARAM = 200

export function newRecord(endpoint: string, requestId: string, req: IncomingMessage): RequestRecord {
  return { requestId, traceparent: traceparentOf(req), endpoint, status: 0, attempts: [], ms: { total: 0 } }
}

/** The client's address; undefined when it cannot be told. */
export function addressOf(
  { trustedProxies }: Pick<Gateway, 'trustedProxies'>,
  { headers, socket }: IncomingMessage,
): string | undefined {
  const forwarded = headers['x-forwarded-for']
  return clientAddress(
    socket.remoteAddress,
    Array.isArray(forwarded) ? forwarded.join(',') : forwarded,
    trustedProxies,
  )
}

/** Authenticates a request of any endpoint, by these headers of it, and notes who it was. */
export async function identify(
  gateway: Gateway,
  req: IncomingMessage,
  record: RequestRecord,
  time: StoreTime,
  rawHeaders: readonly string[] = req.rawHeaders,
): Promise<Caller> {
  const address = addressOf(gateway, req)
  record.client = address
  const records = {
    key: (hash: string) => time.spend(() => gateway.follower.key(hash)),
    account: (id: string) => time.spend(() => gateway.follower.account(id)),
  }
  return authenticate(records, rawHeaders, address, Date.now(), (key, account) => {
    record.key = `${key.namespace}/${key.name}`
    record.keyPreview = key.preview
    record.namespace = key.namespace
    record.account = account?.name
  })
}

/**
 * Logs and counts a request that is over. `told` is the error that the client was, or is about to be, told; `sent` the
 * status that it has got, 0 for none yet.
 */
export function finish(
  gateway: Gateway,
  record: RequestRecord,
  told: GatewayError | undefined,
  sent: number,
  startedAt: number,
): void {
  record.status = sent || (told?.status ?? CLIENT_CLOSED)
  record.code = told?.code
  if (told?.param != null) record.param = mask(told.param, []).slice(0, MAX_PARAM)
  record.ms.total = elapsed(startedAt)
  gateway.log.write(record)
  gateway.metrics.finished({
    endpoint: record.endpoint,
    model: record.route ?? 'unknown',
    status: record.relay !== undefined && told === undefined ? classOf(record.status) : record.status,
    error: errorOf(told, record),
    durationSeconds: record.ms.total / 1_000,
    overheadSeconds: record.ms.overhead === undefined ? undefined : record.ms.overhead / 1_000,
    firstTokenSeconds:
      record.stream && record.ms.firstEvent !== undefined ? record.ms.firstEvent / 1_000 : undefined,
    usage: record.usage,
  })
}

/**
 * A request that has a bad end without an error of ours was given up by its client, or its body broke. A status that
 * was relayed is none of ours.
 */
function errorOf(told: GatewayError | undefined, { status, outcome }: RequestRecord): RequestFacts['error'] {
  if (told !== undefined) return { code: told.code, domain: told.entry.domain }
  return status < 400 || outcome === 'finished' ? undefined : { code: 'client_gone', domain: 'caller' }
}

/** A status that a foreign upstream chose must not make a series of its own. */
function classOf(status: number): string {
  return status >= 200 && status < 600 ? `${Math.floor(status / 100)}xx` : 'other'
}

/** Milliseconds to three decimals. */
export function elapsed(from: number, to: number = performance.now()): number {
  return Math.round((to - from) * 1_000) / 1_000
}

/** A valid W3C traceparent; anything else is dropped, it is the client's text. */
function traceparentOf(req: IncomingMessage): string | undefined {
  const value = req.headers.traceparent
  return typeof value === 'string' && /^00-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}$/.test(value)
    ? value
    : undefined
}
