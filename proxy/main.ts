/**
 * A proxy: stateless, follows the table in the store, serves traffic, drains on a signal to stop. Its parts are
 * opened in `open/`, each of them after those that it uses, and stopped in the reverse order.
 */
import type { Logger } from 'pino'
import type { AdminPage } from '../admin/server.ts'
import { AddressSet } from '../contract/address.ts'
import type { Environment } from '../contract/env.ts'
import type { Store } from '../store/contract.ts'
import { LearnedOutputs } from './ledger/learned.ts'
import { requestMs } from './ledger/store-time.ts'
import { openConversations } from './open/conversations.ts'
import { openEdge, type ProxyStatus } from './open/edge.ts'
import { openStoreSide } from './open/store-side.ts'
import { openUpstreams } from './open/upstreams.ts'
import { proxyPages } from './pages.ts'
import { openBodyThreads } from './pipeline/body/threads.ts'
import { BodyTurns } from './pipeline/body/turns.ts'
import { Journal } from './pipeline/request/journal.ts'
import { SETTLE_MS } from './server/drain.ts'
import { limitsOf } from './settings.ts'
import { RECORD_KINDS } from './table/follower.ts'
import { StoreAlarms } from './telemetry/alarms.ts'
import { ProxyMetrics } from './telemetry/metrics.ts'
import { RequestLog } from './telemetry/request-log.ts'

export type { ProxyStatus } from './open/edge.ts'

/** Large bodies are rare, and a thread takes a processor and tens of megabytes while it lives. */
const BODY_THREADS = 1

interface ProxyOptions {
  store: Store
  env: Environment
  /** Name of this process, unique among the proxies of a store. */
  instance: string
  log: Logger
  /** Takes the request log, a line at a time. */
  writeRequestLog: (line: string) => void
  /** Addresses to listen on; default SLUICE_HOST, else all interfaces. */
  hosts?: readonly string[]
  /** More guarded paths for the admin port. */
  admin?: Record<string, AdminPage>
  /** The admin port of the process that shows this proxy's pages; by default it opens its own. */
  sharedAdminPort?: number | undefined
}

export interface RunningProxy {
  port: number
  adminPort: number
  /** Takes no new connections, lets requests in flight finish for at most `graceMs`, then breaks them off. */
  stop(graceMs: number): Promise<void>
  status(): ProxyStatus
  /** Number of requests in flight. */
  inFlight(): number
  /** Number of requests that have begun since the start. */
  begun(): number
  /** The guarded pages of the admin port. */
  pages: Readonly<Record<string, AdminPage>>
  metrics: Pick<ProxyMetrics, 'registry'>
}

/**
 * Resolves when both ports listen. A store that is away is waited for: until its table was read the proxy is not ready
 * and answers 503. Rejects with the listen error, whose `port` is the one that was taken.
 */
export async function startProxy({
  store,
  env,
  instance,
  log,
  writeRequestLog,
  hosts = env.SLUICE_HOST === undefined ? [] : [env.SLUICE_HOST],
  admin = {},
  sharedAdminPort,
}: ProxyOptions): Promise<RunningProxy> {
  const limits = limitsOf(env)
  const metrics = new ProxyMetrics(RECORD_KINDS)
  const alarms = new StoreAlarms(log, metrics)
  const requestLog = new RequestLog(store.state, writeRequestLog, env.SLUICE_LOG_UPSTREAM_BODIES, () =>
    metrics.droppedLines.inc(),
  )
  const channels = openUpstreams(env, limits, metrics)
  const storeSide = openStoreSide({
    store,
    env,
    instance,
    alarms,
    troubles: channels.troubles,
    swapped(table, before) {
      channels.tableSwapped(table, before)
      metrics.swaps.inc()
      log.info({ epoch: table.epoch, generation: table.generation }, 'table in force')
    },
  })
  const turns = new BodyTurns(env.SLUICE_MAX_LARGE_BODIES_PER_KEY, () => performance.now())
  const threads = openBodyThreads(turns, BODY_THREADS)
  const kept = openConversations({ store, env, limits, alarms, threads })
  const { follower, revocation, holds, unmetered } = storeSide
  const { upstreams } = channels
  const edge = openEdge({
    env,
    log,
    limits,
    instance,
    turns,
    threads,
    ports: {
      admission: { follower, revocation, trustedProxies: new AddressSet(env.SLUICE_TRUSTED_PROXIES) },
      conversations: kept.conversations,
      billing: { holds, learned: new LearnedOutputs(), metrics, unmetered, tagNames: env.SLUICE_TAG_NAMES },
      upstreams,
      journal: new Journal(requestLog, metrics, requestMs(env.SLUICE_REDIS_TIMEOUT)),
      ledger: store.ledger,
    },
    follower,
    metrics,
    pages: { ...proxyPages({ follower, health: upstreams.health }, store), ...admin },
    sharedAdminPort,
  })
  const parts = [channels, storeSide, threads, kept, edge]
  metrics.read({ ...channels.gauges, ...storeSide.gauges, ...kept.gauges, ...edge.gauges })
  const stop = async () => {
    for (const part of parts.toReversed()) await part.stop()
  }

  await storeSide.start()
  const listening = await edge.listen(hosts).catch(async (error: unknown) => {
    await stop()
    throw error
  })
  return {
    ...listening,
    status: edge.status,
    inFlight: edge.gauges.inFlight,
    begun: edge.begun,
    pages: edge.pages,
    metrics,
    async stop(graceMs) {
      const stopping = performance.now()
      await edge.drain(graceMs)
      // At least as long as a settle can take, and longer if there is time, because waiting settles are money.
      await storeSide.drain(Math.max(SETTLE_MS, graceMs - (performance.now() - stopping)))
      await stop()
    },
  }
}
