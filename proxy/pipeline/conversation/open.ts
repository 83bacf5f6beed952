/**
 * The place of a request in its conversation: what it goes on from, which channel knows it, and how it is said to one
 * that does not.
 */
import type { RouteRecord } from '../../../contract/table/records.ts'
import type { AffinityKind } from '../../affinity/affinity.ts'
import { sessionOf } from '../../affinity/session.ts'
import type { Caller } from '../../auth/authenticate.ts'
import type { ChainPosition, Chains } from '../../dialects/core/chains.ts'
import type { ParsedRequest } from '../../dialects/core/dialect.ts'
import type { Lanes, ReadyLanes } from '../../dialects/core/lanes/index.ts'
import { GatewayError } from '../../errors.ts'
import type { StoreTime } from '../../ledger/store-time.ts'
import type { Call } from '../call.ts'
import { type Gateway, jsonLimitsOf } from '../gateway.ts'
import { ownerOf } from '../owner.ts'
import type { PlannedTarget } from '../route.ts'
import { refuseForeignItems } from './own-items.ts'
import { findPrevious, notFound, type Previous } from './previous.ts'
import { sayReferences } from './references.ts'
import { openLanes } from './request-lanes.ts'
import { AnswerWatch } from './watch.ts'

export interface Asked {
  gateway: Gateway
  call: Call
  caller: Caller
  route: RouteRecord
  targets: PlannedTarget[]
  request: ParsedRequest
  time: StoreTime
}

export interface Conversation {
  /** What is weighed and priced: all that the upstream reads, as far as the gateway knows it. */
  request: ParsedRequest
  lanes: Lanes
  /** Channels that should serve, the best first: namespace/name. */
  preferred: string[]
  watch: AnswerWatch
}

/** Throws GatewayError previous_response_not_found and store_unavailable. */
export async function openConversation(came: Asked): Promise<Conversation> {
  const { gateway, call, caller, time } = came
  const { chains } = call.endpoint.api
  const owner = ownerOf(caller)
  const position = chains?.position(came.request)
  const request = chains && position ? await sayReferences(came, chains, position, owner) : came.request
  const asked = { ...came, request }
  if (chains) await refuseForeignItems(gateway, time, owner, chains.position(request).references)
  const { state, conversations } = gateway
  const previous =
    chains === undefined || position?.previous === undefined
      ? undefined
      : await findPrevious(
          { state, conversations, memory: call.memory, time, chains },
          owner,
          position.previous,
        )
  const preferred = await preferences(asked, owner, position, previous)
  const session = sessionFor(asked)
  const watch = new AnswerWatch(
    gateway,
    { owner, session, affinityTtlMs: asked.route.affinity.ttlMs, several: asked.targets.length > 1 },
    chains && position && { call, chains, position, previous, request },
  )
  if (chains === undefined || previous === undefined) {
    return { request, lanes: lanesFor(asked, request), preferred, watch }
  }
  return { ...(await continued(asked, chains, previous)), preferred, watch }
}

/** A request of a chain: by reference at the channel that keeps it, with all that was said before at any other. */
async function continued(
  asked: Asked,
  chains: Chains,
  previous: Previous,
): Promise<Pick<Conversation, 'request' | 'lanes'>> {
  const { gateway, call, request, targets } = asked
  const mayBeEmpty = call.generate === false
  let expansion: Promise<ParsedRequest> | undefined
  const expanded = () => {
    expansion ??= (async () => {
      const history = await previous.history()
      if (history === undefined) throw notFound(previous.id)
      checkSize(history, request, gateway.limits.maxBodyBytes)
      return chains.expand(request, history, { ...jsonLimitsOf(gateway.limits), mayBeEmpty })
    })()
    return expansion
  }
  const { binding } = previous
  // What passes as bytes keeps its id: the upstream knows the response by the one that its client has.
  const native = lanesFor(asked, request)
  const keeps = (channel: string | undefined) => binding?.native === true && channel === binding.channel
  const whole = async () => lanesFor(asked, await expanded())
  if (binding === undefined || !targets.some(({ key, way }) => way === 'native' && keeps(key))) {
    const all = await expanded()
    return { request: all, lanes: lanesFor(asked, all) }
  }
  const { head } = request
  const input = { ...head.input, tokens: (head.input.tokens ?? 0) + binding.contextTokens }
  return {
    request: { ...request, head: { ...head, input } },
    lanes: {
      kindFor: (way) => native.kindFor(way),
      open: async (target) => {
        const knows = target.way === 'native' && keeps(target.channel) && !target.withoutState
        return knows ? { ...native.open(target), byReference: true } : (await whole()).open(target)
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

function lanesFor({ gateway, call, caller, route }: Asked, request: ParsedRequest): ReadyLanes {
  return openLanes(gateway, call.endpoint, { caller, route, request })
}

/** What only one upstream can read, then what it keeps, then the session. */
async function preferences(
  asked: Asked,
  owner: string,
  position: ChainPosition | undefined,
  previous: Previous | undefined,
): Promise<string[]> {
  const { gateway, targets, time } = asked
  if (targets.length < 2) return []
  const look = (kind: AffinityKind, name: string | undefined) =>
    name === undefined
      ? undefined
      : time.spend(() => gateway.affinity.channel(kind, owner, name)).catch(() => undefined)
  const session = sessionFor(asked)
  const found = await Promise.all([
    look('state', position?.bound.at(-1)),
    previous?.binding?.channel,
    look('session', session),
  ])
  return found.filter((channel): channel is string => channel !== undefined && channel !== '')
}

/** Routes are apart: where one is served says nothing of another. */
function sessionFor({ call, route, request }: Asked): string | undefined {
  if (route.affinity.mode !== 'Session') return undefined
  const session = sessionOf(call.req.headers, request.head.cacheKey)
  return session === undefined ? undefined : `${route.name}/${session}`
}
