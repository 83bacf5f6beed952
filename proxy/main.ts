/** A proxy: stateless, follows the table in the store, serves traffic, drains when it is told to stop. */
import type { Server } from 'node:net'
import { isDeepStrictEqual } from 'node:util'
import type { Logger } from 'pino'
import { type AdminPage, createAdminServer } from '../admin/server.ts'
import { AddressSet } from '../contract/address.ts'
import type { Environment } from '../contract/env.ts'
import type { Store } from '../store/contract.ts'
import { createAffinity } from './affinity/affinity.ts'
import { EstimateFactors } from './ledger/estimate.ts'
import { Holds } from './ledger/holds.ts'
import { Dispatchers } from './outbound/dispatchers.ts'
import { readOutbound } from './outbound/settings.ts'
import { proxyPages } from './pages.ts'
import { Revocation } from './pipeline/admission/revocation.ts'
import { BodyMemory } from './pipeline/body/memory.ts'
import { BodyTurns } from './pipeline/body/turns.ts'
import type { Gateway } from './pipeline/gateway.ts'
import { Shutdown } from './pipeline/request/shutdown.ts'
import { createRelay } from './relay/relay.ts'
import { type AppEvents, breakOff, createApp, refuse } from './server/app.ts'
import { drain, SETTLE_MS } from './server/drain.ts'
import { createHttpServer } from './server/http-server.ts'
import { listen, portOf } from './server/listen.ts'
import { Overload } from './server/overload.ts'
import { trackUnused } from './server/unused-connections.ts'
import { createUpgrades, socketCalls } from './server/upgrade.ts'
import {
  bodyMemoryOf,
  httpLimitsOf,
  limitsOf,
  loadLimitsOf,
  relaySettingsOf,
  socketLimitsOf,
} from './settings.ts'
import { MemoryPool } from './socket/memory.ts'
import { Sockets } from './socket/sockets.ts'
import { RECORD_KINDS, TableFollower } from './table/follower.ts'
import { StoreAlarms } from './telemetry/alarms.ts'
import { ProxyMetrics } from './telemetry/metrics.ts'
import { RequestLog } from './telemetry/request-log.ts'
import { ChannelHealth } from './upstream/health.ts'
import { RetryBudget } from './upstream/retry-budget.ts'
import { Troubles } from './upstream/troubles.ts'

const DAY_MS = 86_400_000

export interface ProxyOptions {
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
}

export interface RunningProxy {
  port: number
  adminPort: number
  /** Takes no new connections, lets requests in flight finish for at most `graceMs`, then breaks them off. */
  stop(graceMs: number): Promise<void>
  status(): ProxyStatus
}

/** What `/status` of the admin port shows of a proxy. */
export interface ProxyStatus {
  role: 'proxy'
  instance: string
  /** The newest publication in force. */
  epoch: number
  generation: number
  ready: boolean
  /** Why it is not ready. */
  reason?: string
  store: 'reachable' | 'away'
  port: number
}

/**
 * Resolves when both ports listen. A store that is away is waited for: until its table was read the proxy is not ready
 * and answers 503. Rejects with the listen error, whose `port` tells which one was taken.
 */
export async function startProxy({
  store,
  env,
  instance,
  log,
  writeRequestLog,
  hosts = env.SLUICE_HOST === undefined ? [] : [env.SLUICE_HOST],
  admin = {},
}: ProxyOptions): Promise<RunningProxy> {
  const now = () => performance.now()
  const overload = new Overload(loadLimitsOf(env))
  const health = new ChannelHealth(now)
  const troubles = new Troubles(() => health.snapshot(), Date.now)
  const dispatchers = new Dispatchers(readOutbound(env))
  const follower: TableFollower = new TableFollower(
    store.config,
    { proxy: instance, keyMaxAgeMs: env.SLUICE_KEY_MAX_AGE, troubles: () => troubles.read() },
    {
      swapped(table, before) {
        const channels = new Map(table.channels())
        const earlier = new Map(before.channels())
        dispatchers.retain(channels)
        health.retain(channels)
        for (const [key, channel] of channels)
          if (!isDeepStrictEqual(channel, earlier.get(key))) health.reset(key)
        metrics.tableSwapped()
        log.info({ epoch: table.epoch, generation: table.generation }, 'table in force')
      },
      keysChanged: (hashes) => void revocation.recheck(hashes),
      failed: (error) => alarms.tableFailed(error),
      unreadable: (kind, error) => alarms.unreadable(kind, error),
      behind: () => alarms.behind(),
    },
  )
  const revocation = new Revocation((hash) => follower.key(hash))
  const holds = new Holds(store.ledger, {
    failed: (operation, error) => alarms.ledgerFailed(operation, error),
    accountMissing: (account, missing) => alarms.accountMissing(account, missing),
    dead: (account, id, amount, reason) => alarms.settleDead(account, id, amount, reason),
  })
  const metrics = new ProxyMetrics({
    inFlight: () => overload.inFlight,
    sockets: () => sockets.size,
    relayed: () => relay.rates.inFlight,
    bodyMemory: () => ({ requests: gateway.bodyMemory.used, relay: relay.bodyMemory.used }),
    holds: () => holds.live,
    unsettled: () => holds.unsettled,
    generation: () => follower.applied.generation,
    tableAgeSeconds: () => follower.ageMs / 1_000,
    storeAvailable: () => follower.reachable,
    ejected: () => health.snapshot().flatMap((state) => (state.ejected ? [state.channel] : [])),
    recordKinds: RECORD_KINDS,
  })
  const alarms = new StoreAlarms(log, metrics)
  const shutdown = new Shutdown()
  const gateway: Gateway = {
    follower,
    holds,
    factors: new EstimateFactors(),
    dispatchers,
    health,
    retryBudget: new RetryBudget(now),
    metrics,
    log: new RequestLog(store.state, writeRequestLog, env.SLUICE_LOG_UPSTREAM_BODIES, () =>
      metrics.logLineDropped(),
    ),
    trustedProxies: new AddressSet(env.SLUICE_TRUSTED_PROXIES),
    limits: limitsOf(env),
    bodyMemory: new BodyMemory(bodyMemoryOf(env).requests),
    bodyTurns: new BodyTurns(env.SLUICE_MAX_LARGE_BODIES_PER_KEY, now),
    state: store.state,
    conversations: {
      ttlMs: env.SLUICE_CONVERSATION_TTL,
      bindingTtlMs: env.SLUICE_BINDING_DAYS * DAY_MS,
      exchangeBytes: env.SLUICE_MAX_EXCHANGE_BYTES,
      ownerBytes: env.SLUICE_MAX_CONVERSATION_BYTES,
    },
    affinity: createAffinity(store.affinity),
    stateFailed: (error) => alarms.stateFailed(error),
    sealing: store.sealing,
    shutdown,
    revocation,
  }

  let draining = false
  const notReady = () => {
    if (draining) return 'draining'
    if (follower.caughtUp) return undefined
    return follower.reachable ? 'no table yet' : 'the store is away'
  }
  const status = (): ProxyStatus => {
    const reason = notReady()
    return {
      role: 'proxy',
      instance,
      ...follower.applied,
      ready: reason === undefined,
      ...(reason === undefined ? {} : { reason }),
      store: follower.reachable ? 'reachable' : 'away',
      port: portOf(api),
    }
  }
  const events: AppEvents = {
    unexpected: (error, requestId) => log.error({ err: error, requestId }, 'unexpected error'),
  }
  const sockets: Sockets = new Sockets({
    ...socketCalls(gateway, overload, events),
    limits: socketLimitsOf(env),
    pool: new MemoryPool(env.SLUICE_SOCKET_MEMORY_BYTES),
    now,
  })
  const upgrades = createUpgrades({ gateway, overload, sockets, draining: () => draining, events })
  const relay = createRelay(relaySettingsOf(env, () => new Set([portOf(api), portOf(adminServer)])))
  const app = createApp(gateway, relay, overload, upgrades, events)
  const api = createHttpServer(httpLimitsOf(env), {
    handle: app,
    refuse: (req, res, error) => refuse(gateway, req, res, error),
    breakOff,
    upgrades,
    draining: () => draining,
  })
  const unused = trackUnused(api)
  const adminServer = createAdminServer({
    metrics: metrics.registry,
    token: env.SLUICE_ADMIN_TOKEN,
    notReady,
    guarded: {
      '/status': async () => ({ instances: [status()] }),
      ...proxyPages(gateway, store),
      ...admin,
    },
  })
  const unwatch = store.onRestored(() => {
    follower.readAgain()
    holds.restored()
  })

  const stopFollowing = async () => {
    unwatch()
    await follower.stop()
  }

  await follower.start()
  let adminListeners: Server[] = []
  let listeners: Server[]
  const closeAdmin = () => {
    for (const server of [adminServer, ...adminListeners]) server.close()
    adminServer.closeAllConnections()
  }
  try {
    adminListeners = await listen(adminServer, env.SLUICE_ADMIN_PORT, hosts)
    listeners = await listen(api, env.SLUICE_PORT, hosts)
  } catch (error) {
    closeAdmin()
    await stopFollowing()
    throw error
  }

  return {
    port: portOf(api),
    adminPort: portOf(adminServer),
    status,
    async stop(graceMs) {
      const stopping = now()
      draining = true
      log.info({ inFlight: overload.inFlight }, 'draining')
      await drain({
        server: api,
        listeners,
        unused,
        sockets,
        graceMs,
        breakOff: () => shutdown.begin(),
        inFlight: () => overload.inFlight,
      })
      // As long as a settle could need anyway, and longer where there is time: what waits is money.
      await holds.stop(Math.max(SETTLE_MS, graceMs - (now() - stopping)))
      await stopFollowing()
      overload.stop()
      closeAdmin()
      await dispatchers.close()
    },
  }
}
