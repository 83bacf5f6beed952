/**
 * The place of a request in its conversation: which response it continues, which channel knows that response, and how
 * another channel gets the conversation.
 */
import type { RouteRecord } from '../../../contract/table/records.ts'
import { after, type Soon } from '../../../kit/soon.ts'
import type { AffinityKind } from '../../affinity/affinity.ts'
import { sessionOf } from '../../affinity/session.ts'
import { ownerOf } from '../../auth/authenticate.ts'
import type { ChainPosition, Chains } from '../../dialects/core/chains.ts'
import type { Lanes } from '../../dialects/core/lanes/index.ts'
import type { ParsedRequest } from '../../dialects/core/request.ts'
import { GatewayError } from '../../errors.ts'
import type { Call } from '../call.ts'
import type { AdmittedContext } from '../request/context.ts'
import type { PlannedTarget } from '../route.ts'
import type { Conversations } from './conversations.ts'
import { refuseForeignItems } from './own-items.ts'
import { findPrevious, notFound, type Previous } from './previous.ts'
import { resolveItemReferences } from './references.ts'
import { requestLanes } from './request-lanes.ts'
import { AnswerWatch } from './watch.ts'

/** A request with the route that was found for it. */
interface Routed {
  route: RouteRecord
  targets: readonly PlannedTarget[]
  request: ParsedRequest
}

interface Opening extends Routed {
  conversations: Conversations
  ctx: AdmittedContext
  call: Call
  owner: string
}

export interface Conversation {
  /** The request to weigh and price: everything that the upstream reads, as far as the gateway knows it. */
  request: ParsedRequest
  lanes: Lanes
  /** Channels that should serve, the best first: namespace/name. */
  preferred: string[]
  watch: AnswerWatch
}

/** Throws GatewayError previous_response_not_found and store_unavailable. */
export function openConversation(
  conversations: Conversations,
  ctx: AdmittedContext,
  call: Call,
  routed: Routed,
): Soon<Conversation> {
  const { chains } = call.endpoint.api
  const opening = { ...routed, conversations, ctx, call, owner: ownerOf(ctx.caller) }
  if (chains !== undefined) return openChain(opening, chains)
  const { request } = routed
  return after(preferences(opening), (preferred) => ({
    request,
    lanes: lanesFor(opening, request),
    preferred,
    watch: watchFor(opening, undefined),
  }))
}

/** The conversation of a dialect that continues earlier answers by id. */
async function openChain(opened: Opening, chains: Chains): Promise<Conversation> {
  const { conversations, ctx, call, owner } = opened
  const { time } = ctx
  const { memory } = call
  const position = chains.position(opened.request)
  const request = await resolveItemReferences(
    { conversations, chains, time, owner },
    opened.request,
    position,
  )
  const opening = { ...opened, request }
  await refuseForeignItems(conversations, time, owner, chains.position(request).references)
  const previous =
    position.previous === undefined
      ? undefined
      : await findPrevious({ conversations, memory, time, chains }, owner, position.previous)
  const preferred = await preferences(opening, position, previous)
  const watch = watchFor(opening, { memory, chains, position, previous, request })
  if (previous === undefined) return { request, lanes: lanesFor(opening, request), preferred, watch }
  return { ...(await continued(opening, chains, previous)), preferred, watch }
}

function watchFor(opening: Opening, chain: ConstructorParameters<typeof AnswerWatch>[2]): AnswerWatch {
  const { conversations, owner, route, targets } = opening
  const session = sessionFor(opening)
  const routing = { owner, session, affinityTtlMs: route.affinity.ttlMs, several: targets.length > 1 }
  return new AnswerWatch(conversations, routing, chain)
}

/** A request of a chain: sent by reference to the channel that keeps the chain, with the whole conversation to any other. */
async function continued(
  opening: Opening,
  chains: Chains,
  previous: Previous,
): Promise<Pick<Conversation, 'request' | 'lanes'>> {
  const { conversations, call, request, targets } = opening
  const mayBeEmpty = call.generate === false
  let expansion: Promise<ParsedRequest> | undefined
  const expanded = () => {
    expansion ??= (async () => {
      const history = await previous.history()
      if (history === undefined) throw notFound(previous.id)
      checkSize(history, request, conversations.requests.maxBodyBytes)
      return chains.expand(request, history, { ...conversations.requests.json, mayBeEmpty })
    })()
    return expansion
  }
  const { binding } = previous
  // On the byte lane an answer keeps its id: the upstream knows the response by the id that the client has.
  const native = lanesFor(opening, request)
  const keeps = (channel: string | undefined) => binding?.native === true && channel === binding.channel
  const whole = async () => lanesFor(opening, await expanded())
  if (binding === undefined || !targets.some(({ key, lane }) => lane === 'byte' && keeps(key))) {
    const all = await expanded()
    return { request: all, lanes: lanesFor(opening, all) }
  }
  const { head } = request
  const input = { ...head.input, tokens: (head.input.tokens ?? 0) + binding.contextTokens }
  return {
    request: { ...request, head: { ...head, input } },
    lanes: {
      open: async (target) => {
        const knows = target.lane === 'byte' && keeps(target.channel) && !target.withoutState
        return knows ? { ...(await native.open(target)), byReference: true } : (await whole()).open(target)
      },
    },
  }
}

/** A conversation is a request like one that a client sends whole. */
function checkSize(history: readonly string[], { body }: ParsedRequest, maxBytes: number): void {
  const bytes = history.reduce((sum, text) => sum + Buffer.byteLength(text), body.length)
  if (bytes <= maxBytes) return
  const message = `The conversation is larger than ${maxBytes} bytes.`
  throw new GatewayError('request_too_large', message, { param: 'previous_response_id' })
}

function lanesFor({ conversations, call, ctx, route }: Opening, request: ParsedRequest): Lanes {
  return requestLanes(conversations, ctx, { call, route, request })
}

/** First the channel of state that only it can read, then the one that keeps the conversation, then the session's. */
function preferences(opening: Opening, position?: ChainPosition, previous?: Previous): Soon<string[]> {
  const session = sessionFor(opening)
  const state = position?.bound.at(-1)
  const channel = previous?.binding?.channel
  const unbound = session === undefined && state === undefined && channel === undefined
  return opening.targets.length < 2 || unbound ? [] : remembered(opening, { state, channel, session })
}

/** `channel`: the one that keeps the conversation. */
async function remembered(
  { conversations, owner, ctx }: Opening,
  { state, channel, session }: Record<AffinityKind | 'channel', string | undefined>,
): Promise<string[]> {
  const look = (kind: AffinityKind, name: string | undefined) =>
    name === undefined
      ? undefined
      : ctx.time.spend(() => conversations.affinity.channel(kind, owner, name)).catch(() => undefined)
  const found = await Promise.all([look('state', state), channel, look('session', session)])
  return found.filter((channel): channel is string => channel !== undefined && channel !== '')
}

/** The route is part of the name: the channel that serves one route may not serve another. */
function sessionFor({ call, route, request }: Opening): string | undefined {
  if (route.affinity.mode !== 'Session') return undefined
  const session = sessionOf(call.req.headers, request.head.cacheKey)
  return session === undefined ? undefined : `${route.name}/${session}`
}
