/**
 * One request through the proxy, stage by stage:
 *
 *   authenticate   who calls; 401 and 403 before a byte of the body is read
 *   read head      the body, and what the gateway must know of it
 *   allow model    before balances: a key learns nothing about models that it may not use
 *   route          the channels that could serve
 *   hold           money for the most that it may cost; 402
 *   deliver        attempts until one commits, then the relay; 502
 *   settle         the real cost, whatever happened
 *   log            one line and the metrics
 */
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { RouteRecord } from '../../contract/table/records.ts'
import type { Caller } from '../auth/authenticate.ts'
import type { ParsedRequest } from '../dialects/dialect.ts'
import type { Endpoint } from '../dialects/index.ts'
import { GatewayError } from '../errors.ts'
import { StoreTime } from '../ledger/store-time.ts'
import { modelAllowed } from '../table/routing.ts'
import type { RequestRecord } from '../telemetry/request-log.ts'
import { readJsonBody } from './body.ts'
import { meterOf, refuseUnpricedTier, settle, takeHold } from './charge.ts'
import { ClientGone, requestControl } from './client.ts'
import { type Delivery, deliver } from './deliver.ts'
import type { Gateway } from './gateway.ts'
import { openLanes } from './lanes.ts'
import { elapsed, finish, identify, newRecord } from './record.ts'
import { type PlannedTarget, planRoute } from './route.ts'

export interface ServedEndpoint extends Endpoint {
  name: string
}

/** Throws GatewayError while the client can still be answered by a status; the caller renders it. */
export async function serve(
  gateway: Gateway,
  endpoint: ServedEndpoint,
  req: IncomingMessage,
  res: ServerResponse,
  requestId: string,
): Promise<void> {
  const startedAt = performance.now()
  const control = requestControl(res, gateway.shutdown)
  const cancel = control.signal
  const record = newRecord(endpoint.name, requestId, req)
  const time = new StoreTime()
  let told: GatewayError | undefined
  let unwatch: (() => void) | undefined
  try {
    const caller = await identify(gateway, req, record, time)
    if (cancel.aborted) throw cancel.reason
    unwatch = gateway.revocation.watch(caller.hash, control)
    const bodyFrom = performance.now()
    const body = await readJsonBody(req, res, gateway.limits)
    record.ms.body = elapsed(bodyFrom)
    const request = readHead(gateway, endpoint, body, req, record)
    allowModel(caller, request)

    const { route, targets } = await findRoute(gateway, endpoint, caller, request, record, time)
    const priced = { caller, route, request }
    refuseUnpricedTier(priced)
    const hold = await takeHold(gateway, priced, requestId, time)
    record.hold = hold?.amount
    record.ms.overhead = elapsed(startedAt + record.ms.body)

    let delivery: Delivery | undefined
    try {
      const meterFor = (exhausted: () => void) => meterOf(gateway, priced, hold, exhausted)
      const lanes = openLanes(gateway, endpoint, priced)
      const job = {
        gateway,
        dialect: endpoint.dialect,
        request,
        lanes,
        route,
        targets,
        cancel,
        requestId,
        meterFor,
      }
      delivery = await deliver({ ...job, attempts: record.attempts }, res)
      record.dropped = delivery.dropped
      told = delivery.error
      record.outcome = delivery.outcome
      if (delivery.firstByteAt !== undefined) record.ms.firstEvent = elapsed(startedAt, delivery.firstByteAt)
    } finally {
      await settle(gateway, priced, hold, delivery, record)
    }
  } catch (error) {
    if (error instanceof ClientGone) record.outcome = 'client_gone'
    else {
      told = GatewayError.from(error)
      throw told
    }
  } finally {
    unwatch?.()
    finish(gateway, record, told, res, startedAt)
  }
}

function readHead(
  gateway: Gateway,
  endpoint: Endpoint,
  body: Buffer,
  req: IncomingMessage,
  record: RequestRecord,
): ParsedRequest {
  const { maxJsonDepth: maxDepth, maxJsonKeys: maxKeys } = gateway.limits
  const request = endpoint.dialect.parseRequest(body, { maxDepth, maxKeys }, req.headers)
  record.model = request.head.model
  record.stream = request.head.stream
  return request
}

function allowModel(caller: Caller, request: ParsedRequest): void {
  if (modelAllowed(caller.key.models, request.head.model)) return
  throw new GatewayError('model_not_allowed', 'This API key may not use this model.', { param: 'model' })
}

/** A model that nothing serves is an upstream error, but a caller without funds hears of the funds first. */
async function findRoute(
  gateway: Gateway,
  endpoint: Endpoint,
  caller: Caller,
  request: ParsedRequest,
  record: RequestRecord,
  time: StoreTime,
): Promise<{ route: RouteRecord; targets: PlannedTarget[] }> {
  const plan = planRoute(gateway.follower.table, caller, request.head.model, endpoint)
  record.route = plan.route?.name
  if (!('none' in plan)) return plan
  record.outcome = plan.none
  if (caller.account !== undefined) await gateway.holds.admit(caller.account, time)
  throw new GatewayError('upstream_error', 'No upstream serves this model.', { param: 'model' })
}
