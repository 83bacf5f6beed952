/**
 * GET and DELETE /v1/responses/{id}, GET /v1/responses/{id}/input_items: from the stored conversation, else from the
 * upstream that keeps it. Authenticated and logged, never billed. What the key may not see is not there: 404.
 */
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { ResponseBinding } from '../../../store/contract.ts'
import type { Caller } from '../../auth/authenticate.ts'
import { GatewayError } from '../../errors.ts'
import { StoreTime } from '../../ledger/store-time.ts'
import { send, type UpstreamRequest } from '../../outbound/exchange.ts'
import { mask, type RequestRecord } from '../../telemetry/request-log.ts'
import { pathOf, upstreamRequest } from '../../upstream/request.ts'
import { bindingOf, storedExchanges } from '../conversation/previous.ts'
import type { Gateway } from '../gateway.ts'
import { ownerOf } from '../owner.ts'
import { ClientGone, requestControl, sendWhole } from '../request/client.ts'
import { finish, identify, newRecord } from '../request/journal.ts'
import { type ItemQuery, itemPage, itemQuery, upstreamItemQuery } from './item-page.ts'

/** What is asked of a stored response. */
export interface StoredQuestion {
  id: string
  what: 'response' | 'input_items' | 'delete'
  query: URLSearchParams
}

interface Asked {
  gateway: Gateway
  caller: Caller
  owner: string
  binding: ResponseBinding
  question: StoredQuestion
  /** Of the items that are asked for. */
  page: ItemQuery
  time: StoreTime
  cancel: AbortSignal
  record: RequestRecord
}

const NOTHING = Buffer.alloc(0)

export async function serveStoredResponse(
  gateway: Gateway,
  req: IncomingMessage,
  res: ServerResponse,
  requestId: string,
  question: StoredQuestion,
): Promise<void> {
  const startedAt = performance.now()
  const record = newRecord('stored_responses', requestId, req)
  const time = new StoreTime()
  const { signal: cancel } = requestControl(res, gateway.shutdown)
  let told: GatewayError | undefined
  try {
    const caller = await identify(gateway, req, record, time)
    if (question.query.get('stream') === 'true')
      throw new GatewayError('unsupported_parameter', 'A stored response is not streamed.', {
        param: 'stream',
      })
    const page = question.what === 'input_items' ? itemQuery(question.query) : { include: [] }
    const owner = ownerOf(caller)
    const binding = await bindingOf(gateway.state, time, owner, question.id)
    if (binding === undefined) throw notFound()
    const body = await answer({ gateway, caller, owner, binding, question, page, time, cancel, record })
    record.outcome = 'finished'
    if (!res.headersSent) sendWhole(res, 200, 'application/json', body, gateway.limits.clientStallMs)
  } catch (error) {
    if (error instanceof ClientGone) record.outcome = 'client_gone'
    else {
      told = GatewayError.from(error)
      throw told
    }
  } finally {
    finish(gateway, record, told, res.headersSent ? res.statusCode : 0, startedAt)
  }
}

function notFound(): GatewayError {
  return new GatewayError('not_found', 'There is no such response.', { param: 'id' })
}

function badQuery({ after }: ItemQuery): GatewayError {
  const message = 'The upstream has no such page of items.'
  return new GatewayError('invalid_request', message, after === undefined ? {} : { param: 'after' })
}

async function answer(asked: Asked): Promise<Buffer> {
  const { gateway, owner, binding, question, page } = asked
  const { id, what } = question
  if (what === 'delete') return remove(asked)
  const stored = await storedExchanges(gateway.state, gateway.conversations, owner, binding, id)
  const last = stored?.at(-1)
  if (stored === undefined || last === undefined) return askUpstream(asked, 'GET')
  if (what === 'response') return Buffer.from(last.response)
  const before = stored.slice(0, -1).flatMap(({ input, output }) => [...input, ...output])
  return Buffer.from(JSON.stringify(itemPage(id, [...before, ...last.input], page)))
}

async function remove(asked: Asked): Promise<Buffer> {
  const { gateway, owner, binding, question, time } = asked
  const { id } = question
  if (binding.native) await askUpstream(asked, 'DELETE').catch(ignoreNotFound)
  await time.spend(async () => {
    await gateway.state.removeExchange(owner, binding.root, id)
    await gateway.state.removeResponse(owner, id)
  })
  return Buffer.from(JSON.stringify({ id, object: 'response', deleted: true }))
}

function ignoreNotFound(error: unknown): undefined {
  if (error instanceof GatewayError && error.code === 'not_found') return undefined
  throw error
}

/** The credential of the channel may not do this, now or later. */
const REFUSED = [401, 402, 403]

/** Asks the upstream that keeps the response. Throws GatewayError not_found, invalid_request and upstream_error. */
async function askUpstream(asked: Asked, method: 'GET' | 'DELETE'): Promise<Buffer> {
  const { gateway, caller, binding, question, page, cancel, record } = asked
  const { namespace } = caller.key
  const channel = gateway.follower.table.channel(namespace, binding.channel.slice(namespace.length + 1))
  if (!binding.native || channel === undefined) throw notFound()
  const suffix = question.what === 'input_items' ? '/input_items' : ''
  const query = upstreamItemQuery(page)
  const path = `/responses/${encodeURIComponent(binding.upstreamId)}${suffix}`
  const plain = upstreamRequest(channel, { path, body: NOTHING }, 'application/json')
  const request: UpstreamRequest = {
    ...plain,
    path: query === '' ? plain.path : `${plain.path}${plain.path.includes('?') ? '&' : '?'}${query}`,
    method,
    body: null,
  }
  const since = performance.now()
  let refused = false
  const note = (status: number | undefined, outcome: string) =>
    record.attempts.push({
      channel: binding.channel,
      path: mask(pathOf(channel, path), []),
      status,
      class: outcome,
      ms: Math.round(performance.now() - since),
    })
  try {
    const { timeoutsMs } = channel
    const response = await send(
      gateway.dispatchers.get(binding.channel, channel),
      request,
      timeoutsMs,
      cancel,
    )
    const body = await response.readAll(gateway.limits.maxAnswerBytes)
    note(response.status, response.status === 200 ? 'ok' : 'unknown')
    if (response.status === 200) return body
    if (response.status === 404) throw notFound()
    refused = REFUSED.includes(response.status)
    if (response.status === 400 && query !== '') throw badQuery(page)
  } catch (error) {
    if (error instanceof GatewayError) throw error
    if (cancel.aborted) throw cancel.reason
    note(undefined, 'transient')
  }
  throw new GatewayError('upstream_error', 'The upstream could not serve the request.', { final: refused })
}
