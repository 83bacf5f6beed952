/**
 * POST /api/proxy: a caller's body to a caller's upstream with the caller's key, stage by stage:
 *
 *   look          403 where the relay is off, 503 beyond what the process relays at a time
 *   identify      401 without an upstream key, or without the gateway's own where it is required; 429
 *   read          the body; 400, 408, 413, 415
 *   check         400 for a gateway key on its way out, and for an address that is not to be called
 *   call          502 and 504 before the upstream's status; after it the client is cut off
 *   log           one line and the metrics
 *
 * Nothing here outlives the call, so that the upstream's key does not.
 */
import type { IncomingMessage, ServerResponse } from 'node:http'
import { networkOf } from '../../contract/address.ts'
import { GatewayError } from '../errors.ts'
import { StoreTime } from '../ledger/store-time.ts'
import { connectTo } from '../outbound/checked.ts'
import { bodyBounds, readBody } from '../pipeline/body/read-body.ts'
import { type Gateway, jsonLimitsOf } from '../pipeline/gateway.ts'
import { ClientGone, requestControl } from '../pipeline/request/client.ts'
import { addressOf, elapsed, finish, identify, newRecord } from '../pipeline/request/journal.ts'
import type { RequestRecord } from '../telemetry/request-log.ts'
import { exchange } from './exchange.ts'
import type { Relay } from './relay.ts'
import { parseRelayRequest, type RelayRequest } from './request.ts'
import { gatewayKeyHeaders, refuseGatewayKey, upstreamKey } from './upstream-key.ts'
import { upstreamHeaders } from './upstream-request.ts'

/** What the stages of one request share. */
interface Relayed {
  gateway: Gateway
  relay: Relay
  policy: NonNullable<Relay['policy']>
  req: IncomingMessage
  res: ServerResponse
  record: RequestRecord
  /** Its abort ends the request; the reason is ClientGone or the GatewayError to tell. */
  control: AbortController
  time: StoreTime
  startedAt: number
  /** Called when the request is over. */
  leave: (() => void)[]
}

/** Throws GatewayError while the client can still be answered by a status; the caller renders it. */
export async function serveRelay(
  gateway: Gateway,
  relay: Relay,
  req: IncomingMessage,
  res: ServerResponse,
  requestId: string,
): Promise<void> {
  const startedAt = performance.now()
  const record = newRecord('relay', requestId, req)
  const leave: (() => void)[] = []
  let told: GatewayError | undefined
  try {
    const { policy } = relay
    if (policy === undefined) throw new GatewayError('relay_disabled', 'The relay is switched off.')
    relay.rates.check()
    const control = requestControl(res, gateway.shutdown)
    const time = new StoreTime()
    await run({ gateway, relay, policy, req, res, record, control, time, startedAt, leave })
    record.outcome = 'finished'
  } catch (error) {
    if (error instanceof ClientGone) record.outcome = 'client_gone'
    else {
      told = GatewayError.from(error)
      // A client that has the upstream's status was cut off.
      if (!res.headersSent || told.code === 'internal_error') throw told
    }
  } finally {
    for (const end of leave) end()
    finish(gateway, record, told, res.headersSent ? res.statusCode : 0, startedAt)
  }
}

async function run(relayed: Relayed): Promise<void> {
  const { gateway, relay, req, control, time } = relayed
  const key = upstreamKey(req.rawHeaders)
  const client = await clientOf(relayed)
  relayed.leave.push(relay.rates.admit(client))
  const request = await read(relayed, client)
  // Not before: whoever sends slowly calls nobody yet.
  relayed.leave.push(relay.rates.enter())
  await refuseGatewayKey(key, (hash) => time.spend(() => gateway.follower.key(hash)))
  control.signal.throwIfAborted()
  await call(relayed, request, key)
}

/** Whose rates count: a gateway key where one is required, else an address. */
async function clientOf({ gateway, relay, req, record, control, time, leave }: Relayed): Promise<string> {
  if (!relay.requireApiKey) {
    record.client = addressOf(gateway, req)
    return record.client === undefined ? 'unknown' : networkOf(record.client)
  }
  const headers = gatewayKeyHeaders(req.rawHeaders)
  const caller = await identify(gateway, req, record, time, headers).catch(sayWhere)
  control.signal.throwIfAborted()
  leave.push(gateway.revocation.watch(caller, record.client, control))
  return caller.hash
}

/** The usual words name the header that holds the upstream's key here. */
function sayWhere(error: unknown): never {
  if (!(error instanceof GatewayError) || error.code !== 'unauthorized') throw error
  throw new GatewayError(
    'unauthorized',
    'Missing or invalid API key of this gateway. Send one key as "x-api-key: <key>".',
  )
}

async function read(
  { gateway, relay, req, res, record, control }: Relayed,
  client: string,
): Promise<RelayRequest> {
  const { limits } = gateway
  const from = performance.now()
  const body = await readBody(req, res, bodyBounds({ limits, bodyMemory: relay.bodyMemory }, 'relay'))
  record.ms.body = elapsed(from)
  if (!Buffer.isBuffer(body)) throw new TypeError('the relay takes no uploads')
  const parse = () => parseRelayRequest(body, jsonLimitsOf(limits))
  const request = await gateway.bodyTurns.take(client, body.length, control.signal, parse)
  record.stream = request.stream
  record.relay = { origin: originOf(request.url), style: request.style, sent: 0, received: 0 }
  return request
}

const MAX_URL_LENGTH = 2_048

/** For the log: a URL's path, query and user may hold secrets. */
function originOf(text: string): string | undefined {
  const url = text.length > MAX_URL_LENGTH ? null : URL.parse(text)
  return url === null || url.origin === 'null' ? undefined : url.origin
}

async function call(relayed: Relayed, request: RelayRequest, key: string): Promise<void> {
  const { relay, policy, res, record, control, startedAt } = relayed
  const { signal } = control
  const timer = setTimeout(
    () => control.abort(new GatewayError('upstream_timeout', 'The upstream did not answer in time.')),
    relay.totalMs,
  )
  try {
    record.ms.overhead = elapsed(startedAt + (record.ms.body ?? 0))
    const target = await policy.target(request.url, signal)
    const isAllowed = policy.isAllowed.bind(policy)
    const socket = await connectTo(target, { ...relay, isAllowed }, signal)
    const { relay: counts } = record
    if (counts !== undefined) counts.sent = request.body.length
    const headers = upstreamHeaders(target.url, key, request)
    await exchange(socket, { url: target.url, headers, body: request.body }, res, signal, {
      received(bytes) {
        record.ms.firstEvent ??= elapsed(startedAt)
        if (counts !== undefined) counts.received += bytes
      },
    })
  } catch (error) {
    // What was cancelled failed because of that.
    signal.throwIfAborted()
    throw error
  } finally {
    clearTimeout(timer)
  }
}
