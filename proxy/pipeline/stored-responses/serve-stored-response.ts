/**
 * GET and DELETE /v1/responses/{id}, GET /v1/responses/{id}/input_items: from the stored conversation, else from the
 * upstream that keeps it. Authenticated and logged, never billed. A response that the key may not see is answered 404.
 */
import type { ResponseBinding } from '../../../store/contract.ts'
import { ownerOf } from '../../auth/authenticate.ts'
import { GatewayError } from '../../errors.ts'
import { send } from '../../outbound/exchange.ts'
import type { UpstreamRequest } from '../../outbound/request.ts'
import { upstreamRequest } from '../../upstream/request.ts'
import { admit } from '../admission/admit.ts'
import { shownPath } from '../attempt/shown-path.ts'
import { bindingOf, storedExchanges } from '../conversation/previous.ts'
import type { Ports } from '../ports.ts'
import { arrivalOf, type HttpRequest, sendWhole } from '../request/client.ts'
import type { AdmittedContext } from '../request/context.ts'
import { type ItemQuery, itemPage, itemQuery, upstreamItemQuery } from './item-page.ts'

/** A client's question about a stored response. */
export interface StoredQuestion {
  id: string
  what: 'response' | 'input_items' | 'delete'
  query: URLSearchParams
}

/** The question, with the stored facts about the response. */
interface Lookup {
  owner: string
  binding: ResponseBinding
  question: StoredQuestion
  /** The page of items that the client wants. */
  page: ItemQuery
}

type StoredPorts = Pick<Ports, 'admission' | 'bodies' | 'conversations' | 'upstreams' | 'journal'>

const NOTHING = Buffer.alloc(0)

export function serveStoredResponse(
  ports: StoredPorts,
  http: HttpRequest,
  question: StoredQuestion,
): Promise<void> {
  return ports.journal.run(arrivalOf('stored_responses', http), async (arrived) => {
    const ctx = await admit(ports.admission, arrived)
    if (question.query.get('stream') === 'true')
      throw new GatewayError('unsupported_parameter', 'A stored response is not streamed.', {
        param: 'stream',
      })
    const page = question.what === 'input_items' ? itemQuery(question.query) : { include: [] }
    const owner = ownerOf(ctx.caller)
    const binding = await bindingOf(ports.conversations.state, ctx.time, owner, question.id)
    if (binding === undefined) throw notFound()
    const body = await answer(ports, ctx, { owner, binding, question, page })
    ctx.record.outcome = 'finished'
    // The request broke meanwhile and was refused.
    if (!http.res.headersSent) sendWhole(http.res, body, ports.bodies.limits.clientStallMs)
  })
}

function notFound(): GatewayError {
  return new GatewayError('not_found', 'There is no such response.', { param: 'id' })
}

function badQuery({ after }: ItemQuery): GatewayError {
  const message = 'The upstream has no such page of items.'
  return new GatewayError('invalid_request', message, after === undefined ? {} : { param: 'after' })
}

async function answer(ports: StoredPorts, ctx: AdmittedContext, lookup: Lookup): Promise<Buffer> {
  const { owner, binding, question, page } = lookup
  const { id, what } = question
  if (what === 'delete') return remove(ports, ctx, lookup)
  const stored = await storedExchanges(ports.conversations, owner, binding, id)
  const last = stored?.at(-1)
  if (stored === undefined || last === undefined) return askUpstream(ports, ctx, lookup, 'GET')
  if (what === 'response') return Buffer.from(last.response)
  const before = stored.slice(0, -1).flatMap(({ input, output }) => [...input, ...output])
  return Buffer.from(JSON.stringify(itemPage(id, [...before, ...last.input], page)))
}

async function remove(ports: StoredPorts, ctx: AdmittedContext, lookup: Lookup): Promise<Buffer> {
  const { owner, binding, question } = lookup
  const { id } = question
  const { state } = ports.conversations
  if (binding.native) await askUpstream(ports, ctx, lookup, 'DELETE').catch(ignoreNotFound)
  await ctx.time.spend(async () => {
    await state.removeExchange(owner, binding.root, id)
    await state.removeResponse(owner, id)
  })
  return Buffer.from(JSON.stringify({ id, object: 'response', deleted: true }))
}

function ignoreNotFound(error: unknown): undefined {
  if (error instanceof GatewayError && error.code === 'not_found') return undefined
  throw error
}

/** The channel's credential is not allowed to do this. */
const REFUSED = [401, 402, 403]

/** Calls the upstream that keeps the response. Throws GatewayError not_found, invalid_request and upstream_error. */
async function askUpstream(
  { admission, upstreams }: StoredPorts,
  { caller, cancel, record }: AdmittedContext,
  { binding, question, page }: Lookup,
  method: 'GET' | 'DELETE',
): Promise<Buffer> {
  const { namespace } = caller.key
  const channel = admission.follower.table.channel(namespace, binding.channel.slice(namespace.length + 1))
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
      path: shownPath(channel, path),
      status,
      class: outcome,
      ms: Math.round(performance.now() - since),
    })
  try {
    const dispatcher = upstreams.dispatchers.get(binding.channel, channel)
    const response = await send(dispatcher, request, channel.timeoutsMs, cancel)
    const body = await response.readAll(upstreams.limits.maxAnswerBytes)
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
