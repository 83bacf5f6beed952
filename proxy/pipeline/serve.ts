/**
 * One call through the proxy, stage by stage:
 *
 *   admit          who calls; 401 and 403 before a byte of the body is read
 *   read           the body, and the fields that the gateway uses
 *   allow model    before balances: a key learns nothing about models that it may not use
 *   route          the channels that could serve
 *   converse       the place of the request in its conversation; 400 for one that is not found
 *   hold           money for the most that the request may cost; 402
 *   deliver        attempts until one commits, then its answer; 502
 *   settle         the real cost, whatever happened
 *
 * The journal logs and counts the call when it is over.
 */
import { isLater, type Soon } from '../../kit/soon.ts'
import type { Caller } from '../auth/authenticate.ts'
import { newAnswerId } from '../dialects/core/neutral/ids.ts'
import type { ParsedRequest } from '../dialects/core/request.ts'
import { GatewayError } from '../errors.ts'
import { budgetsOf } from '../ledger/budgets.ts'
import { inputEstimate } from '../ledger/estimate.ts'
import { modelAllowed, type RoutingTable } from '../table/routing.ts'
import type { RequestRecord } from '../telemetry/request-log.ts'
import { admit, endWithKey } from './admission/admit.ts'
import { deliver } from './answer/deliver.ts'
import { type Billing, type Charged, type Order, openBill } from './billing/charge.ts'
import { tellerOf } from './billing/rate-limits.ts'
import { refuseUnpriced } from './billing/unpriced.ts'
import { type ReadRequest, readRequest } from './body/read-request.ts'
import type { Call } from './call.ts'
import { type Conversation, openConversation } from './conversation/open.ts'
import type { Ports } from './ports.ts'
import type { AdmittedContext, RequestContext } from './request/context.ts'
import { NO_TAGS, tagsOf } from './request/tags.ts'
import { type NoRoute, planRoute, type RoutePlan } from './route.ts'

/** Throws GatewayError while the client can still be answered by a status; the caller renders it. */
export function serve(ports: Ports, call: Call): Promise<void> {
  const { endpoint, requestId, req, client, control } = call
  const arrival = { endpoint: endpoint.name, requestId, req, control, status: () => client.status }
  return ports.journal.run(arrival, (ctx) => runStages(ports, ctx, call))
}

async function runStages(ports: Ports, arrived: RequestContext, call: Call): Promise<void> {
  const { admission, bodies, billing, conversations } = ports
  const admitted = admit(admission, arrived)
  const ctx = isLater(admitted) ? await admitted : admitted
  ctx.cancel.throwIfAborted()
  ctx.tags = tagsOf(ctx.req, billing.tagNames)
  if (ctx.tags !== NO_TAGS) ctx.record.tags = ctx.tags
  endWithKey(admission, ctx)
  const read = await readRequest(bodies, ctx, call)
  ctx.onEnd(() => read.upload?.drop())
  allowModel(ctx.caller, read.request)

  const found = findRoute(admission.follower.table, billing, ctx, { call, request: read.request })
  const plan = isLater(found) ? await found : found
  const opened = ctx.stage('converse', () =>
    openConversation(conversations, ctx, call, { ...plan, request: read.request }),
  )
  const conversation = isLater(opened) ? await opened : opened
  const { request } = conversation
  if (call.endpoint.unbilled || call.generate === false)
    await refuseWithoutFunds(billing, ctx, request.head.model)
  if (call.generate === false) await prepareOnly(ctx, call, conversation)
  else if (plan.targets.length === 0) answerWithEstimate(ctx.record, call, request)
  else await purchase(ports, ctx, call, { read, plan, conversation })
}

function allowModel(caller: Caller, request: ParsedRequest): void {
  if (modelAllowed(caller.key.models, request.head.model)) return
  throw new GatewayError('model_not_allowed', 'This API key may not use this model.', { param: 'model' })
}

/** A model that nothing serves is an upstream error; an account without funds gets 402 first. */
function findRoute(
  table: RoutingTable,
  billing: Billing,
  ctx: AdmittedContext,
  { call, request }: { call: Call; request: ParsedRequest },
): Soon<RoutePlan> {
  const plan = planRoute(table, ctx.caller, request.head.model, call.endpoint)
  ctx.record.route = plan.route?.name
  return 'none' in plan ? refuseUnserved(plan.none, billing, ctx, request.head.model) : plan
}

async function refuseUnserved(
  why: NoRoute,
  billing: Billing,
  ctx: AdmittedContext,
  model: string,
): Promise<never> {
  ctx.record.outcome = why
  await refuseWithoutFunds(billing, ctx, model)
  throw new GatewayError('upstream_error', 'No upstream serves this model.', { param: 'model', final: true })
}

async function refuseWithoutFunds(
  { holds }: Billing,
  { caller, time }: AdmittedContext,
  model: string,
): Promise<void> {
  const { account } = caller
  if (account !== undefined) await holds.admit(account, budgetsOf(caller, model, holds.storeNow), time)
}

/** Answers at once with an empty answer that a later request can continue. */
async function prepareOnly(
  ctx: AdmittedContext,
  { endpoint, client }: Call,
  { request, watch }: Conversation,
): Promise<void> {
  const { chains, keepAlive } = endpoint.api
  if (chains === undefined) throw new TypeError('this endpoint knows no conversations')
  const stream = client.stream(keepAlive)
  const events = chains.warmUp(request, newAnswerId(), Math.floor(Date.now() / 1_000))
  watch.push(events)
  if (watch.due) await watch.keep(undefined)
  stream.end(events)
  ctx.record.outcome = 'finished'
}

function answerWithEstimate(record: RequestRecord, { endpoint, client }: Call, request: ParsedRequest): void {
  const answer = endpoint.api.estimate?.(request, Math.max(1, inputEstimate(request.head.input)))
  if (answer === undefined) throw new TypeError('this endpoint knows no estimates')
  client.setHeader('x-sluice-estimated', 'true')
  record.outcome = 'finished'
  client.whole(Buffer.from(JSON.stringify(answer)))
}

/** A request whose channels are known. */
interface Ready {
  read: ReadRequest
  plan: RoutePlan
  conversation: Conversation
}

/** The part that costs money: hold, deliver, settle. */
async function purchase(
  { billing, upstreams }: Ports,
  ctx: AdmittedContext,
  call: Call,
  { read, plan, conversation }: Ready,
): Promise<void> {
  const { endpoint, client } = call
  const order = orderOf(plan, conversation.request)
  refuseUnpriced(ctx.caller, order)
  const opened = endpoint.unbilled
    ? undefined
    : ctx.stage('hold', () => openBill(billing, ctx, order, tellerOf(call)))
  const bill = isLater(opened) ? await opened : opened
  let charged: Charged | undefined
  try {
    const { request, lanes, preferred, watch } = conversation
    const { route, targets } = plan
    const { api } = endpoint
    const job = { request, lanes, preferred, watch, route, targets, api, upload: read.upload, bill }
    charged = await ctx.stage('deliver', () => deliver(upstreams, ctx, job, client))
  } catch (error) {
    // To the client an estimate is more useful than an error because no upstream could count.
    const isCount = endpoint.api.estimate !== undefined && error instanceof GatewayError
    if (!isCount || error.code !== 'upstream_error') throw error
    answerWithEstimate(ctx.record, call, conversation.request)
  } finally {
    const settled = ctx.stage('settle', () => bill?.settle(charged))
    if (isLater(settled)) await settled
  }
}

function orderOf({ route, makesImages }: RoutePlan, request: ParsedRequest): Order {
  // A text prompt routed to an image model yields one image.
  const images = request.head.images ?? (makesImages ? 1 : 0)
  return { route, request, images }
}
