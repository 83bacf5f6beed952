/** ioredis, set up so that no command waits for a server that is away, for one server and for a Cluster alike. */
import { Cluster, type Command, Redis, type RedisOptions } from 'ioredis'
import type { TlsOptions } from './tls.ts'

const CONNECT_MS = 1_000
/** A connection on which nothing comes for so long, with commands unanswered, is taken for dead and replaced. */
const SILENCE_MS = 5_000
const SLOTS_REFRESH_MS = 2_000
const REDIS_PORT = 6379

export interface Client {
  /** Settles when the first attempt to connect has ended, well or not. */
  started: Promise<void>
  /** True while there is no connection to send commands on. */
  isAway(): boolean
  /** Name of the server that a command goes to. */
  nodeOf(command: Command): string
  send(command: Command): Promise<unknown>
  close(): void
}

export interface ClientEvents {
  /** Commands can be sent to this server; `redis` is its own connection. */
  ready(node: string, redis: Redis): void
  /** The connection to this server ended, or could not be made. */
  lost(node: string, reason: string): void
}

/**
 * `url`: redis:// or rediss://, with user, password and database number where they are needed. Several addresses
 * separated by commas are nodes of a Cluster, and so is a single one with `?cluster=true`. `tls` is for rediss://.
 */
export function createClient(
  url: string,
  name: string,
  events: ClientEvents,
  tls: TlsOptions | undefined,
): Client {
  const addresses = url.split(',').map((part) => new URL(part.trim()))
  const [first] = addresses
  if (first === undefined) throw new TypeError('no address of a Redis')
  const options = { ...COMMON, ...credentials(first, tls), connectionName: name }
  return addresses.length > 1 || first.searchParams.get('cluster') === 'true'
    ? clusterClient(addresses, options, events)
    : serverClient(first, options, events)
}

const COMMON = {
  protocol: 2,
  disableClientInfo: true,
  connectTimeout: CONNECT_MS,
  socketTimeout: SILENCE_MS,
  // A command whose connection is lost fails at once: its caller knows whether to try it again.
  maxRetriesPerRequest: 0,
  autoResendUnfulfilledCommands: false,
  // A primary that became a replica (Redis Sentinel, a managed Redis that fails over) is left for the new one.
  reconnectOnError: (error: Error) => error.message.startsWith('READONLY'),
} satisfies RedisOptions

/** How every connection is made, whoever it leads to. */
type Shared = typeof COMMON & ReturnType<typeof credentials> & { connectionName: string }

function credentials({ protocol, username, password }: URL, tls: TlsOptions | undefined) {
  return {
    ...(username !== '' && { username: decodeURIComponent(username) }),
    ...(password !== '' && { password: decodeURIComponent(password) }),
    // An object of the client's own is kept as it is: what it answers is asked for at each connection.
    ...(protocol === 'rediss:' && { tls: tls ?? {} }),
  }
}

function endpoint({ hostname, port }: URL): { host: string; port: number } {
  return { host: hostname.replace(/^\[(.*)\]$/, '$1'), port: port === '' ? REDIS_PORT : Number(port) }
}

const backoff = (attempt: number) => Math.min(50 * attempt, 500)

function serverClient(url: URL, options: Shared, events: ClientEvents): Client {
  const node = url.host
  const redis = new Redis({
    ...options,
    ...endpoint(url),
    db: Number(url.pathname.slice(1)),
    enableOfflineQueue: false,
    retryStrategy: backoff,
  })
  const started = new Promise<void>((resolve) => {
    redis.once('ready', resolve)
    redis.once('close', resolve)
  })
  watch(node, redis, events)
  return {
    started,
    isAway: () => redis.status !== 'ready',
    nodeOf: () => node,
    send: async (command) => redis.sendCommand(command),
    close: () => redis.disconnect(),
  }
}

function clusterClient(addresses: URL[], redisOptions: Shared, events: ClientEvents): Client {
  const options = {
    redisOptions,
    clusterRetryStrategy: backoff,
    slotsRefreshTimeout: CONNECT_MS,
    slotsRefreshInterval: SLOTS_REFRESH_MS,
    // The Cluster says of itself that it is down: nothing is gained by asking again at once.
    retryDelayOnClusterDown: 0,
    lazyConnect: true,
  }
  const cluster = new Cluster(addresses.map(endpoint), options)
  const started = new Promise<void>((resolve) => {
    cluster.once('ready', resolve)
    cluster.once('close', resolve)
  })
  cluster.on('+node', (redis: Redis) => {
    watch(`${redis.options.host}:${redis.options.port}`, redis, events)
    // At once, so that a server that came back is known without a command that asks for it.
    if (redis.status === 'wait') redis.connect().catch(() => undefined)
  })
  cluster.on('error', (error: Error) => events.lost('cluster', error.message))
  cluster.on('ready', () => {
    const [redis] = cluster.nodes('master')
    if (redis !== undefined) events.ready('cluster', redis)
  })
  // What fails is told by the events.
  cluster.connect().catch(() => undefined)
  return {
    started,
    isAway: () => cluster.status !== 'ready',
    nodeOf: (command) => cluster.slots[command.getSlot()]?.[0] ?? 'cluster',
    send: async (command) => cluster.sendCommand(command),
    close: () => cluster.disconnect(),
  }
}

function watch(node: string, redis: Redis, events: ClientEvents): void {
  let reason = 'the connection was closed'
  redis.on('error', (error: Error) => {
    reason = error.message
  })
  redis.on('ready', () => events.ready(node, redis))
  redis.on('close', () => events.lost(node, reason))
}
