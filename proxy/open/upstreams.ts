/** Access to upstreams: their connections, their health, the budget for retries. */
import { isDeepStrictEqual } from 'node:util'
import type { Environment } from '../../contract/env.ts'
import { Dispatchers } from '../outbound/dispatchers.ts'
import { readOutbound } from '../outbound/settings.ts'
import { Drains } from '../pipeline/attempt/drain.ts'
import type { Upstreams } from '../pipeline/attempt/job.ts'
import type { Limits } from '../pipeline/limits.ts'
import { Keepsake } from '../pipeline/request/keepsake.ts'
import type { RoutingTable } from '../table/routing.ts'
import type { ProxyMetrics } from '../telemetry/metrics.ts'
import { ChannelHealth } from '../upstream/health.ts'
import { RetryBudget } from '../upstream/retry-budget.ts'
import { troublesOf } from '../upstream/troubles.ts'

export function openUpstreams(env: Environment, limits: Limits, metrics: Pick<ProxyMetrics, 'drained'>) {
  const now = () => performance.now()
  const health = new ChannelHealth(now)
  const dispatchers = new Dispatchers(readOutbound(env))
  const drains = new Drains(env.SLUICE_MAX_DRAINS, (result) => metrics.drained.inc({ result }))
  const retryBudget = new RetryBudget(now)
  const upstreams: Upstreams = { dispatchers, health, retryBudget, drains, keepsake: new Keepsake(), limits }
  return {
    upstreams,
    /** Reported with each heartbeat. */
    troubles: troublesOf(() => health.snapshot(), Date.now),
    gauges: {
      draining: () => drains.size,
      ejected: () => health.snapshot().flatMap((state) => (state.ejected ? [state.channel] : [])),
    },
    /** Forgets removed channels, and the failures of changed ones. */
    tableSwapped(table: RoutingTable, before: RoutingTable) {
      const channels = new Map(table.channels())
      const earlier = new Map(before.channels())
      dispatchers.retain(channels)
      health.retain(channels)
      const changed = [...channels].filter(([key, channel]) => !isDeepStrictEqual(channel, earlier.get(key)))
      health.reset(new Set(changed.map(([key]) => key)))
    },
    stop: () => dispatchers.close(),
  }
}
