/** Everything that clients and operators connect to: the API with its sockets and its relay, and the admin port. */
import type { Server } from 'node:net'
import { type AdminPage, createAdminServer } from '../../admin/server.ts'
import type { Environment } from '../../contract/env.ts'
import type { Log } from '../../contract/log.ts'
import { BodyMemory } from '../pipeline/body/memory.ts'
import type { BodyThreads } from '../pipeline/body/threads.ts'
import type { BodyTurns } from '../pipeline/body/turns.ts'
import type { Limits } from '../pipeline/limits.ts'
import type { Ports } from '../pipeline/ports.ts'
import { Shutdown } from '../pipeline/request/shutdown.ts'
import { createRelay } from '../relay/relay.ts'
import { breakOff, createHandler, refuse } from '../server/app.ts'
import { drain } from '../server/drain.ts'
import { createHttpServer } from '../server/http-server.ts'
import { listen, portOf } from '../server/listen.ts'
import { Overload } from '../server/overload.ts'
import { trackUnused } from '../server/unused-connections.ts'
import { createUpgrades, socketCalls } from '../server/upgrade.ts'
import { bodyMemoryOf, httpLimitsOf, loadLimitsOf, relaySettingsOf, socketLimitsOf } from '../settings.ts'
import { MemoryPool } from '../socket/memory.ts'
import { Sockets } from '../socket/sockets.ts'
import type { TableFollower } from '../table/follower.ts'
import type { ProxyMetrics } from '../telemetry/metrics.ts'

/** The state of a proxy on `/status` of the admin port. */
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

interface EdgeOptions {
  env: Environment
  log: Log
  limits: Limits
  instance: string
  /** All but the body intake, which is made here. */
  ports: Omit<Ports, 'bodies'>
  turns: BodyTurns
  threads: BodyThreads
  follower: Pick<TableFollower, 'caughtUp' | 'reachable' | 'applied'>
  metrics: ProxyMetrics
  /** Guarded paths of the admin port. */
  pages: Record<string, AdminPage>
  /** The admin port of the process that shows this proxy's pages; undefined: it opens its own. */
  sharedAdminPort: number | undefined
}

export function openEdge(options: EdgeOptions) {
  const { env, log, limits, instance, follower, metrics, sharedAdminPort } = options
  const now = () => performance.now()
  const { turns, threads } = options
  const bodies = { limits, memory: new BodyMemory(bodyMemoryOf(env).requests), turns, threads }
  const ports = { ...options.ports, bodies }
  const overload = new Overload(loadLimitsOf(env))
  const shutdown = new Shutdown()
  const unexpected = (error: unknown, requestId: string) =>
    log.error({ err: error, requestId }, 'unexpected error')
  let draining = false
  /** Servers of this process; the relay must not call them, nor a shared admin port. */
  const servers: Server[] = []
  const ownPorts = () => new Set([...servers.map(portOf), sharedAdminPort ?? 0])
  const relay = createRelay(relaySettingsOf(env, ownPorts))
  const sockets = new Sockets({
    ...socketCalls({ ports, overload, shutdown, unexpected }),
    limits: socketLimitsOf(env),
    pool: new MemoryPool(env.SLUICE_SOCKET_MEMORY_BYTES),
    now,
  })
  const upgrades = createUpgrades({ ports, overload, sockets, draining: () => draining, unexpected })
  const api = createHttpServer(httpLimitsOf(env), {
    handle: createHandler({ ports, relay, overload, shutdown, upgrades, unexpected }),
    refuse: (req, res, error) => refuse(ports.journal, req, res, error),
    breakOff,
    upgrades,
    draining: () => draining,
  })
  const unused = trackUnused(api)
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
  const pages: Record<string, AdminPage> = {
    '/status': async () => ({ instances: [status()] }),
    ...options.pages,
  }
  const admin = createAdminServer({
    metrics: metrics.registry,
    token: env.SLUICE_ADMIN_TOKEN,
    notReady,
    guarded: pages,
  })
  servers.push(api, admin)
  let listeners: Server[] = []
  let adminListeners: Server[] = []
  return {
    gauges: {
      inFlight: () => overload.inFlight,
      sockets: () => sockets.size,
      relayed: () => relay.rates.inFlight,
      bodyMemory: () => ({ requests: bodies.memory.used, relay: relay.bodyMemory.used }),
    },
    begun: () => overload.begun,
    status,
    pages,
    /** Opens both ports. Rejects with the listen error, whose `port` is the one that was taken. */
    async listen(hosts: readonly string[]) {
      if (sharedAdminPort === undefined) adminListeners = await listen(admin, env.SLUICE_ADMIN_PORT, hosts)
      listeners = await listen(api, env.SLUICE_PORT, hosts)
      return { port: portOf(api), adminPort: sharedAdminPort ?? portOf(admin) }
    },
    /** Takes no new connections, lets requests in flight finish for at most `graceMs`, then breaks them off. */
    async drain(graceMs: number) {
      draining = true
      log.info({ inFlight: overload.inFlight }, 'draining')
      await drain({
        server: api,
        listeners,
        unused,
        sockets,
        graceMs,
        breakOff: () => {
          shutdown.begin()
          ports.upstreams.drains.stop()
        },
        inFlight: () => overload.inFlight,
      })
    },
    stop() {
      overload.stop()
      for (const server of [admin, ...adminListeners]) server.close()
      admin.closeAllConnections()
    },
  }
}
