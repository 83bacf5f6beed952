/**
 * POST /api/proxy: a caller's body to a caller's upstream with the caller's key, stage by stage:
 *
 *   look          403 if the relay is off, 503 beyond the number of requests that the process relays at a time
 *   identify      401 without an upstream key, or without the gateway's own if it is required; 429
 *   read          the body; 400, 408, 413, 415
 *   check         400 for a gateway key on its way out, and for an address that must not be called
 *   call          502 and 504 before the upstream's status; after it the client is cut off
 * The journal logs and counts the request when it is over. Nothing here outlives the request, so the upstream's key
 * does not either.
 */

import type { ServerResponse } from 'node:http'
import { networkOf } from '../../contract/address.ts'
import { abortSignalOf } from '../../kit/cancel.ts'
import { rescued } from '../../kit/soon.ts'
import { GatewayError } from '../errors.ts'
import { connectTo } from '../outbound/checked.ts'
import { addressOf, admit, endWithKey } from '../pipeline/admission/admit.ts'
import { bodyBounds, readBody, withScan } from '../pipeline/body/read-body.ts'
import type { Ports } from '../pipeline/ports.ts'
import { arrivalOf, type HttpRequest } from '../pipeline/request/client.ts'
import type { RequestContext } from '../pipeline/request/context.ts'
import { exchange } from './exchange.ts'
import type { Relay } from './relay.ts'
import { parseRelayRequest, type RelayRequest } from './request.ts'
import { gatewayKeyHeaders, refuseGatewayKey, upstreamKey } from './upstream-key.ts'
import { upstreamHeaders } from './upstream-request.ts'

type RelayPorts = Pick<Ports, 'admission' | 'bodies' | 'journal'>

interface OpenRelay extends Relay {
  policy: NonNullable<Relay['policy']>
}

/** Throws GatewayError; a client that had the upstream's status by then was cut off. */
export function serveRelay(ports: RelayPorts, relay: Relay, http: HttpRequest): Promise<void> {
  return ports.journal.run(arrivalOf('relay', http), async (ctx) => {
    const { policy } = relay
    if (policy === undefined) throw new GatewayError('relay_disabled', 'The relay is switched off.')
    relay.rates.check()
    await runStages(ports, { ...relay, policy }, ctx, http.res)
    ctx.record.outcome = 'finished'
  })
}

async function runStages(
  ports: RelayPorts,
  relay: OpenRelay,
  ctx: RequestContext,
  res: ServerResponse,
): Promise<void> {
  const { follower } = ports.admission
  const key = upstreamKey(ctx.req.rawHeaders)
  const client = await clientOf(ports, relay, ctx)
  ctx.onEnd(relay.rates.admit(client))
  const request = await read(ports, relay, ctx, { res, client })
  // Only now: a client that sends slowly does not use an upstream yet.
  ctx.onEnd(relay.rates.enter())
  await refuseGatewayKey(key, async (hash) => ctx.time.spend(() => follower.key(hash)))
  ctx.cancel.throwIfAborted()
  await ctx.stage('deliver', () => call(relay, ctx, res, { request, key }))
}

/** Identity used for rate limiting: the gateway key if one is required, else the client's network. */
async function clientOf({ admission }: RelayPorts, relay: OpenRelay, ctx: RequestContext): Promise<string> {
  const { record, req } = ctx
  if (!relay.requireApiKey) {
    record.client = addressOf(admission, req)
    return record.client === undefined ? 'unknown' : networkOf(record.client)
  }
  const admitted = await rescued(() => admit(admission, ctx, gatewayKeyHeaders(req.rawHeaders)), sayWhere)
  ctx.cancel.throwIfAborted()
  endWithKey(admission, admitted)
  return admitted.caller.hash
}

/** The usual message names a header that holds the upstream's key here. */
function sayWhere(error: unknown): never {
  if (!(error instanceof GatewayError) || error.code !== 'unauthorized') throw error
  throw new GatewayError(
    'unauthorized',
    'Missing or invalid API key of this gateway. Send one key as "x-api-key: <key>".',
  )
}

async function read(
  { bodies }: RelayPorts,
  relay: OpenRelay,
  ctx: RequestContext,
  { res, client }: { res: ServerResponse; client: string },
): Promise<RelayRequest> {
  const { limits, turns } = bodies
  const bounds = bodyBounds({ limits, memory: relay.bodyMemory }, 'relay')
  const from = performance.now()
  const body = await ctx.stage('body', () => readBody(ctx.req, res, bounds))
  ctx.bodyRead(from)
  if ('prefix' in body) throw new TypeError('the relay takes no uploads')
  const { bytes } = body
  const parse = () => parseRelayRequest(bytes, withScan(limits.json, body))
  const request = await ctx.stage('parse', () =>
    body.shared === undefined ? parse() : turns.take(client, ctx.cancel, async () => parse()),
  )
  ctx.record.stream = request.stream
  ctx.record.relay = { origin: originOf(request.url), style: request.style, sent: 0, received: 0 }
  return request
}

const MAX_URL_LENGTH = 2_048

/** For the log: a URL's path, query and user may hold secrets. */
function originOf(text: string): string | undefined {
  const url = text.length > MAX_URL_LENGTH ? null : URL.parse(text)
  return url === null || url.origin === 'null' ? undefined : url.origin
}

async function call(
  relay: OpenRelay,
  ctx: RequestContext,
  res: ServerResponse,
  { request, key }: { request: RelayRequest; key: string },
): Promise<void> {
  const { policy } = relay
  const cancel = abortSignalOf(ctx.cancel)
  const { relay: counts } = ctx.record
  const timer = setTimeout(
    () => ctx.control.abort(new GatewayError('upstream_timeout', 'The upstream did not answer in time.')),
    relay.totalMs,
  )
  try {
    const target = await policy.target(request.url, cancel)
    const isAllowed = policy.isAllowed.bind(policy)
    const socket = await connectTo(target, { ...relay, isAllowed }, cancel)
    if (counts !== undefined) counts.sent = request.body.length
    const headers = upstreamHeaders(target.url, key, request)
    await exchange({ socket, url: target.url, headers, body: request.body }, res, cancel, (bytes) => {
      ctx.firstByte()
      if (counts !== undefined) counts.received += bytes
    })
  } catch (error) {
    // A cancelled call failed because of the cancellation.
    cancel.throwIfAborted()
    throw error
  } finally {
    clearTimeout(timer)
  }
}
