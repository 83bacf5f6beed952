/** From a model name to the channels that can serve this endpoint, or the reason why there are none. */
import { DIALECT_OF_TYPE, type DialectName, reaches } from '../../contract/endpoints.ts'
import type { Features } from '../../contract/profiles.ts'
import type { ChannelRecord, RouteRecord, TargetRecord } from '../../contract/table/records.ts'
import type { Caller } from '../auth/authenticate.ts'
import { ENDPOINTS, type Endpoint } from '../dialects/index.ts'
import type { RoutingTable } from '../table/routing.ts'

export interface RoutePlan {
  route: RouteRecord
  targets: PlannedTarget[]
}

export interface PlannedTarget {
  /** namespace/name of the channel. */
  key: string
  channel: ChannelRecord
  target: TargetRecord
  /** What the channel speaks. */
  dialect: DialectName
  features: Features
  /** Model name to send. */
  model: string
}

/** For the log; clients get one answer for all of them. */
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
  const { route, upstreamModel } = match
  if (!usable(route, caller)) return { route, none: 'unpriced' }
  const targets: PlannedTarget[] = []
  for (const target of route.targets) {
    const channel = table.channel(namespace, target.channel)
    if (channel === undefined || notEligible(target, channel, endpoint) !== undefined) continue
    const dialect = DIALECT_OF_TYPE[channel.type]
    if (dialect === undefined) continue
    targets.push({
      key: `${namespace}/${target.channel}`,
      channel,
      target,
      dialect,
      features: target.features ?? channel.features,
      model: targetModel(target, upstreamModel),
    })
  }
  return targets.length === 0 ? { route, none: 'no_eligible_channel' } : { route, targets }
}

/** Why a target cannot serve an endpoint, in our words; undefined when it can. */
export function notEligible(
  target: TargetRecord,
  channel: ChannelRecord,
  endpoint: Endpoint,
): string | undefined {
  if (target.weight === 0) return 'its weight is 0'
  if (!reaches(endpoint, channel.type)) return `the endpoint does not reach ${channel.type} channels`
  return undefined
}

/** The model to ask a target for; `upstreamModel` is what the route's match gives. */
export function targetModel(target: TargetRecord, upstreamModel: string): string {
  return target.model?.replace('*', () => upstreamModel) ?? upstreamModel
}

/** True when the caller's request for this model would reach a channel, at one endpoint at least. */
export function isServed(table: RoutingTable, caller: Caller, model: string): boolean {
  return Object.values(ENDPOINTS).some((endpoint) => !('none' in planRoute(table, caller, model, endpoint)))
}

/** A route without a price is not there for those who must pay. */
function usable(route: RouteRecord, caller: Caller): boolean {
  return route.free || route.price !== undefined || caller.account?.enforced !== true
}
