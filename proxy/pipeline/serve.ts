/**
 * One call through the proxy, stage by stage:
 *
 *   authenticate   who calls; 401 and 403 before a byte of the body is read
 *   read head      the body, and what the gateway must know of it
 *   allow model    before balances: a key learns nothing about models that it may not use
 *   route          the channels that could serve
 *   converse       the place of the request in its conversation; 400 for one that is not found
 *   hold           money for the most that it may cost; 402
 *   deliver        attempts until one commits, then the relay; 502
 *   settle         the real cost, whatever happened
 *   log            one line and the metrics
 */

import type { IncomingMessage } from 'node:http'
import { keyHash } from '../../contract/ids.ts'
import type { Caller } from '../auth/authenticate.ts'
import type { ClientApi, ParsedRequest } from '../dialects/core/dialect.ts'
import { newAnswerId } from '../dialects/core/neutral/ids.ts'
import { GatewayError } from '../errors.ts'
import { inputEstimate } from '../ledger/estimate.ts'
import { StoreTime } from '../ledger/store-time.ts'
import { modelAllowed } from '../table/routing.ts'
import type { RequestRecord } from '../telemetry/request-log.ts'
import { type Delivery, deliver } from './answer/deliver.ts'
import { meterOf, type Priced, refuseUnpricedTier, settle, takeHold } from './billing/charge.ts'
import { openUpload, type Upload } from './body/upload.ts'
import type { Call } from './call.ts'
import { type Conversation, openConversation } from './conversation/open.ts'
import { type Gateway, jsonLimitsOf } from './gateway.ts'
import { ClientGone } from './request/client.ts'
import { elapsed, finish, identify, newRecord } from './request/journal.ts'
import { planRoute, type RoutePlan } from './route.ts'

/** Throws GatewayError while the client can still be answered by a status; the caller renders it. */
export async function serve(gateway: Gateway, call: Call): Promise<void> {
  const startedAt = performance.now()
  const { endpoint, requestId, req, client, control } = call
  const cancel = control.signal
  const record = newRecord(endpoint.name, requestId, req)
  const time = new StoreTime()
  let told: GatewayError | undefined
  let unwatch: (() => void) | undefined
  let upload: Upload | undefined
  try {
    const caller = await identify(gateway, req, record, time)
    if (cancel.aborted) throw cancel.reason
    unwatch = gateway.revocation.watch(caller, record.client, control)
    const read = await readRequest(gateway, call, record, caller)
    const { request } = read
    upload = read.upload
    allowModel(caller, request)

    const plan = await findRoute(gateway, call, caller, request, record, time)
    const conversation = await openConversation({ gateway, call, caller, ...plan, request, time })
    const priced = pricedOf(caller, plan, conversation.request)
    if (endpoint.unbilled || call.generate === false) {
      if (caller.account !== undefined) await gateway.holds.admit(caller.account, time)
    }
    if (call.generate === false) {
      await prepareOnly(call, request, conversation)
      record.outcome = 'finished'
      return
    }
    if (plan.targets.length === 0) {
      estimate(call, conversation.request, record)
      return
    }
    const more = { startedAt, time, upload }
    const ended = await purchase(gateway, call, priced, plan, conversation, record, more)
    told = ended.error
  } catch (error) {
    if (error instanceof ClientGone) record.outcome = 'client_gone'
    else {
      told = GatewayError.from(error)
      throw told
    }
  } finally {
    unwatch?.()
    upload?.drop()
    finish(gateway, record, told, client.status, startedAt)
  }
}

function pricedOf(caller: Caller, { route, targets }: RoutePlan, request: ParsedRequest): Priced {
  // What is asked of a picture model in words makes one.
  const pictures = request.head.images ?? (targets.some(({ api }) => api === 'images') ? 1 : 0)
  return { caller, route, request, pictures }
}

/** The part that costs money: hold, deliver, settle. */
async function purchase(
  gateway: Gateway,
  call: Call,
  priced: Priced,
  { route, targets }: RoutePlan,
  { request, lanes, preferred, watch }: Conversation,
  record: RequestRecord,
  { startedAt, time, upload }: { startedAt: number; time: StoreTime; upload: Upload | undefined },
): Promise<Delivery> {
  const { endpoint, requestId, client, control } = call
  refuseUnpricedTier(priced)
  const hold = endpoint.unbilled ? undefined : await takeHold(gateway, priced, requestId, time)
  record.hold = hold?.amount
  record.ms.overhead = elapsed(startedAt + (record.ms.body ?? 0))
  let delivery: Delivery | undefined
  try {
    const { attempts } = record
    const meterFor = (exhausted: () => void) => meterOf(gateway, priced, hold, exhausted)
    const by = { api: endpoint.api, lanes, preferred, watch, route, targets, attempts }
    const what = { request, ...(upload && { upload }) }
    const job = { gateway, ...what, cancel: control.signal, requestId, meterFor, ...by }
    delivery = await deliver(job, client)
    record.dropped = delivery.dropped
    record.outcome = delivery.outcome
    if (delivery.firstByteAt !== undefined) record.ms.firstEvent = elapsed(startedAt, delivery.firstByteAt)
    return delivery
  } catch (error) {
    // An estimate is of more use than the news that nobody could count.
    const counts = endpoint.api.estimate !== undefined && error instanceof GatewayError
    if (!counts || error.code !== 'upstream_error') throw error
    estimate(call, request, record)
    return { outcome: 'finished' }
  } finally {
    if (!endpoint.unbilled) await settle(gateway, priced, hold, delivery, record)
  }
}

/** Nothing but the upload itself may keep what came of one: it is in memory only until it is sent. */
async function readRequest(
  gateway: Gateway,
  { endpoint: { api }, req, control, read, generate }: Call,
  record: RequestRecord,
  caller: Caller,
): Promise<{ request: ParsedRequest; upload?: Upload }> {
  const from = performance.now()
  const body = await read()
  record.ms.body = elapsed(from)
  const parsed = Buffer.isBuffer(body)
    ? {
        request: await gateway.bodyTurns.take(caller.hash, body.length, control.signal, () =>
          parse(gateway, api, body, req, generate === false),
        ),
      }
    : openUpload(api, body, req, control, gateway.limits.form)
  record.model = shownModel(parsed.request.head.model, caller)
  record.stream = parsed.request.head.stream
  return parsed
}

/** Some put their key where the model belongs; it must not come to be in the log. */
function shownModel(model: string, { hash }: Caller): string {
  return model.startsWith('sk-') || keyHash(model) === hash ? '***' : model
}

function parse(
  { limits }: Gateway,
  api: ClientApi,
  body: Buffer,
  req: IncomingMessage,
  mayBeEmpty: boolean,
): ParsedRequest {
  return api.parseRequest(body, { ...jsonLimitsOf(limits), mayBeEmpty }, req.headers)
}

function allowModel(caller: Caller, request: ParsedRequest): void {
  if (modelAllowed(caller.key.models, request.head.model)) return
  throw new GatewayError('model_not_allowed', 'This API key may not use this model.', { param: 'model' })
}

/** A model that nothing serves is an upstream error, but a caller without funds hears of the funds first. */
async function findRoute(
  gateway: Gateway,
  { endpoint }: Call,
  caller: Caller,
  request: ParsedRequest,
  record: RequestRecord,
  time: StoreTime,
): Promise<RoutePlan> {
  const plan = planRoute(gateway.follower.table, caller, request.head.model, endpoint)
  record.route = plan.route?.name
  if (!('none' in plan)) return plan
  record.outcome = plan.none
  if (caller.account !== undefined) await gateway.holds.admit(caller.account, time)
  throw new GatewayError('upstream_error', 'No upstream serves this model.', { param: 'model', final: true })
}

/** Answers at once with an empty answer that a later request goes on from. */
async function prepareOnly(
  { endpoint, client }: Call,
  request: ParsedRequest,
  { watch }: Conversation,
): Promise<void> {
  const { chains, keepAlive } = endpoint.api
  if (chains === undefined) throw new TypeError('this endpoint knows no conversations')
  const stream = client.stream(keepAlive)
  const events = chains.warmUp(request, newAnswerId(), Math.floor(Date.now() / 1_000))
  watch.push(events)
  if (watch.due) await watch.keep(undefined)
  stream.end(events)
}

function estimate({ endpoint, client }: Call, request: ParsedRequest, record: RequestRecord): void {
  const answer = endpoint.api.estimate?.(request, Math.max(1, inputEstimate(request.head.input)))
  if (answer === undefined) throw new TypeError('this endpoint knows no estimates')
  client.setHeader('x-sluice-estimated', 'true')
  record.outcome = 'finished'
  client.whole(Buffer.from(JSON.stringify(answer)))
}
