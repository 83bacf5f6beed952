/** Sluice as a target: `sluice dev`, and `sluice proxy` with a Redis. */
import { randomBytes } from 'node:crypto'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { startController } from '../controller/main.ts'
import type { Store } from '../store/contract.ts'
import { createRedisStore } from '../store/redis/index.ts'
import { readKeyRing } from '../store/sealing.ts'
import { type RunningRedis, startRedis } from '../test/harness/redis.ts'
import { freePorts } from '../tools/cluster/ports.ts'
import { endProcess, type ProgramSpec, startProcess } from '../tools/cluster/process.ts'
import { booksOf, pageReader } from './books.ts'
import { KEY_PREFIX, KEYS } from './config.ts'
import { ROOT, treeOf } from './processes.ts'
import { PATHS } from './scenarios.ts'
import { type Options, pinned, RUN, type Target } from './targets.ts'

/** Sluice as its clients see it. */
function gateway(name: string, port: number, pid: number, admin: number): Omit<Target, 'stop'> {
  return {
    name,
    port,
    pids: treeOf(pid),
    api: ({ client }) => client,
    path: ({ client }) => PATHS[client],
    headers: () => ({ authorization: 'Bearer {key}' }),
    keys: { prefix: KEY_PREFIX, count: KEYS },
    webSocket: true,
    metrics: async () => (await fetch(`http://127.0.0.1:${admin}/metrics`)).text(),
  }
}

export interface GatewayOptions extends Options {
  /** Folder of resources; see bench/config.ts. */
  config: string
  /** How many keys there are. */
  keys?: number
  name?: string
  /** Another checkout. */
  checkout?: string
  /** Of `sluice proxy`; 1 by default. */
  workers?: number
  /** A module that the gateway loads first. */
  preload?: string
  /** More of the environment of `sluice dev`. */
  env?: Record<string, string>
}

/** The program of a checkout, started as its users start it, with its request log in a file. */
function program(
  checkout: string,
  [name, port, admin]: [string, number, number],
  args: string[],
  { preload, env }: { preload: string | undefined; env: Record<string, string> },
): ProgramSpec {
  return {
    name,
    command: join(checkout, 'bin/sluice'),
    args,
    env: {
      SLUICE_HOST: '127.0.0.1',
      SLUICE_PORT: String(port),
      SLUICE_ADMIN_PORT: String(admin),
      SLUICE_LOG_FORMAT: 'json',
      ...(preload !== undefined && { NODE_OPTIONS: `--import ${preload}` }),
      ...env,
    },
    ports: [port, admin],
    ready: async () => (await fetch(`http://127.0.0.1:${admin}/readyz`)).ok,
  }
}

export async function startEmbedded(options: GatewayOptions): Promise<Target> {
  const { config, keys = KEYS, name = 'Sluice, embedded', checkout = ROOT, cores, preload, env } = options
  const [port = 0, admin = 0] = await freePorts(2)
  const logs = join(RUN, `logs-${port}`)
  const spec = program(checkout, ['embedded', port, admin], ['dev'], {
    preload,
    env: { SLUICE_CONFIG_DIR: config, ...env },
  })
  const process = await startProcess(pinned(spec, cores), logs)
  const page = pageReader(`http://127.0.0.1:${admin}`)
  return {
    ...gateway(name, port, process.pid, admin),
    keys: { prefix: KEY_PREFIX, count: keys },
    books: booksOf(join(logs, 'embedded.log'), page),
    stop: () => endProcess(process, 'SIGTERM', 2_000),
  }
}

export const QUIET = { debug() {}, info() {}, warn() {}, error() {} }

/** A proxy and a Redis; the controller runs in this process, on the same folder. */
export async function startWithRedis(options: GatewayOptions): Promise<Target> {
  const { config, ...rest } = options
  const filled = await openStore()
  const { store } = filled
  const controller = await startController({
    store,
    dir: config,
    namespace: 'default',
    env: {},
    log: QUIET,
  })
  await controller.ready
  const target = await startProxy(filled, rest)
  return {
    ...target,
    books: booksOf(target.log, async (path, query) => controller.pages[path]?.(query)),
    async stop() {
      await target.stop()
      await controller.stop()
      await filled.close()
    },
  }
}

export interface OpenStore {
  store: Store
  redis: RunningRedis
  sealingKeys: string
  close(): Promise<void>
}

/** A Redis of its own, and a connection of this process. */
export async function openStore(): Promise<OpenStore> {
  const redis = await startRedis()
  mkdirSync(RUN, { recursive: true })
  const sealingKeys = join(RUN, `sealing-keys-${redis.port}`)
  writeFileSync(sealingKeys, `k1:${randomBytes(32).toString('base64')}\n`, { mode: 0o600 })
  const store = createRedisStore({
    url: redis.url,
    sealing: readKeyRing(sealingKeys, QUIET),
    log: QUIET,
    instance: 'bench-controller',
    // The books are read while the machine is busy.
    commandTimeoutMs: 30_000,
  })
  const close = async () => {
    await store.close()
    await redis.stop()
  }
  return { store, redis, sealingKeys, close }
}

/** `sluice proxy` on a store that is filled. `log`: file of its request log. */
export async function startProxy(
  { redis, sealingKeys }: OpenStore,
  {
    keys = KEYS,
    name = 'Sluice, Redis',
    workers = 1,
    cores,
    checkout = ROOT,
    preload,
  }: Omit<GatewayOptions, 'config'> = {},
): Promise<Target & { log: string }> {
  const [port = 0, admin = 0] = await freePorts(2)
  const logs = join(RUN, `logs-${port}`)
  const spec = program(
    checkout,
    ['proxy', port, admin],
    ['proxy', ...(workers > 1 ? ['--workers', String(workers)] : [])],
    { preload, env: { SLUICE_REDIS_URL: redis.url, SLUICE_SEALING_KEYS_FILE: sealingKeys } },
  )
  const process = await startProcess(pinned(spec, cores), logs)
  return {
    ...gateway(name, port, process.pid, admin),
    keys: { prefix: KEY_PREFIX, count: keys },
    redisPid: redis.pid(),
    log: join(logs, 'proxy.log'),
    stop: () => endProcess(process, 'SIGTERM', 2_000),
  }
}
