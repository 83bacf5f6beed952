/** From a model name to the channels that can serve this endpoint, or the reason why there are none. */

import type { ApiName } from '../../contract/apis.ts'
import { CHANNEL_TYPE_FACTS } from '../../contract/channel-types.ts'
import { type LaneKind, type Serving, servingOf } from '../../contract/endpoints.ts'
import type { Features } from '../../contract/features.ts'
import type { ChannelRecord, RouteRecord, TargetRecord } from '../../contract/table/records.ts'
import type { Caller } from '../auth/authenticate.ts'
import { DIALECTS, ENDPOINTS, type Endpoint } from '../dialects/index.ts'
import { isMetered } from '../ledger/budgets.ts'
import type { RouteMatch, RoutingTable } from '../table/routing.ts'

export interface RoutePlan extends Targets {
  route: RouteRecord
}

/** The channels that can serve a route at an endpoint. Requests share them. */
interface Targets {
  /** None if the gateway answers with an estimate. */
  targets: readonly PlannedTarget[]
  /** Some upstream takes a prompt alone and answers with images. */
  makesImages: boolean
}

export interface PlannedTarget {
  /** namespace/name of the channel. */
  key: string
  channel: ChannelRecord
  target: TargetRecord
  lane: LaneKind
  /** Upstreams of the channel's type may lack the endpoint. */
  isOptionalEndpoint: boolean
  /** The dialect of the channel; absent if nothing is ever converted. */
  api?: ApiName | undefined
  features: Features
  /** Model name to send. */
  model: string
}

/** For the log only; clients get the same error for all of them. */
export type NoRoute = 'no_route' | 'unpriced' | 'no_eligible_channel'

export function planRoute(
  table: RoutingTable,
  caller: Caller,
  model: string,
  endpoint: Endpoint,
): RoutePlan | { route?: RouteRecord; none: NoRoute } {
  const { namespace } = caller.key
  const match = table.match(namespace, model)
  if (match === undefined) return { none: 'no_route' }
  const { route } = match
  if (!usable(route, caller, model)) return { route, none: 'unpriced' }
  // Each request that a wildcard matches has a match of its own.
  const find = route.model === model ? knownTargets : findTargets
  const found = find(table, namespace, match, endpoint)
  return found === undefined ? { route, none: 'no_eligible_channel' } : { route, ...found }
}

const KNOWN = new WeakMap<RouteMatch, Map<Endpoint, Targets | undefined>>()

/** Like findTargets, which takes the longer the more channels a route has, but once for a table. */
function knownTargets(
  table: RoutingTable,
  namespace: string,
  match: RouteMatch,
  endpoint: Endpoint,
): Targets | undefined {
  const known = KNOWN.get(match) ?? new Map<Endpoint, Targets | undefined>()
  if (known.has(endpoint)) return known.get(endpoint)
  const found = findTargets(table, namespace, match, endpoint)
  KNOWN.set(match, known.set(endpoint, found))
  return found
}

/** Undefined: neither a channel nor the gateway itself can serve the endpoint. */
function findTargets(
  table: RoutingTable,
  namespace: string,
  { route, upstreamModel }: RouteMatch,
  endpoint: Endpoint,
): Targets | undefined {
  const targets: PlannedTarget[] = []
  let estimated = false
  for (const target of route.targets) {
    const channel = table.channel(namespace, target.channel)
    if (channel === undefined) continue
    const serving = servingFor(route, target, channel, endpoint)
    if (serving === 'estimate') estimated = true
    if (serving === undefined || serving === 'estimate') continue
    targets.push({
      key: `${namespace}/${target.channel}`,
      channel,
      target,
      lane: serving,
      isOptionalEndpoint: endpoint.unbilled === true || typeof endpoint.servedBy[channel.type] === 'object',
      api: CHANNEL_TYPE_FACTS[channel.type].api,
      features: featuresAt(target, channel),
      model: targetModel(target, upstreamModel),
    })
  }
  if (targets.length === 0 && !estimated) return undefined
  return { targets, makesImages: targets.some(({ api }) => makesImages(api)) }
}

/** Upstreams that take a prompt alone answer with images. */
function makesImages(api: ApiName | undefined): boolean {
  return api !== undefined && DIALECTS[api].conversation === undefined
}

/** How a target serves an endpoint; undefined if it does not. */
export function servingFor(
  { picturesOnly = false }: RouteRecord,
  target: TargetRecord,
  channel: ChannelRecord,
  endpoint: Endpoint,
): Serving | undefined {
  if (target.weight === 0) return undefined
  return servingOf(endpoint, channel.type, featuresAt(target, channel), picturesOnly)
}

/** Why a target cannot serve an endpoint, in words of the gateway; undefined if it can. */
export function notEligible(
  route: RouteRecord,
  target: TargetRecord,
  channel: ChannelRecord,
  endpoint: Endpoint,
): string | undefined {
  if (target.weight === 0) return 'its weight is 0'
  if (servingFor(route, target, channel, endpoint) !== undefined) return undefined
  const serving = endpoint.servedBy[channel.type]
  if (typeof serving === 'object') return `the channel does not have the feature ${serving.feature}`
  if (serving !== undefined)
    return 'the route has channels of other types, so this image channel does not answer text requests'
  return `the endpoint does not reach ${channel.type} channels`
}

function featuresAt(target: TargetRecord, channel: ChannelRecord): Features {
  return target.features ?? channel.features
}

/** The model name to send to a target; `upstreamModel` comes from the match of the route. */
export function targetModel(target: TargetRecord, upstreamModel: string): string {
  return target.model?.replace('*', () => upstreamModel) ?? upstreamModel
}

/** True if at least one endpoint would serve the caller's request for this model. */
export function isServed(table: RoutingTable, caller: Caller, model: string): boolean {
  return Object.values(ENDPOINTS).some((endpoint) => !('none' in planRoute(table, caller, model, endpoint)))
}

/** A route without a price does not exist for paying callers, because it would serve them for free. */
function usable(route: RouteRecord, caller: Caller, model: string): boolean {
  return route.free || route.price !== undefined || !isMetered(caller, model)
}
