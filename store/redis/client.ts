/** ioredis for one server or a Cluster, configured so that no command waits for an unreachable server. */
import { Cluster, type Command, Redis, type RedisOptions } from 'ioredis'
import type { TlsOptions } from './tls.ts'

const CONNECT_MS = 1_000
/** A connection with pending commands that is silent for so long counts as dead and is replaced. */
const SILENCE_MS = 5_000
const SLOTS_REFRESH_MS = 2_000
const REDIS_PORT = 6379

export interface Client {
  /** Settles when the first attempt to connect has succeeded or failed. */
  started: Promise<void>
  /** True while there is no connection to send commands on. */
  isAway(): boolean
  /** Name of the server that gets this command. */
  nodeOf(command: Command): string
  send(command: Command): Promise<unknown>
  /** The connected server, or the primaries of a Cluster. */
  primaries(): { node: string; send(command: Command): Promise<unknown> }[]
  close(): void
}

export interface ClientEvents {
  /** The server accepts commands; `redis` is the connection to it. */
  ready(node: string, redis: Redis): void
  /** The connection to the server was lost or could not be made. */
  lost(node: string, reason: string): void
}

/**
 * `url`: redis:// or rediss://, with user, password and database number if needed. Several addresses separated by commas
 * are nodes of a Cluster, and so is a single one with `?cluster=true`. `tls` is for rediss://.
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
  // A command whose connection is lost fails at once: its caller decides whether to retry.
  maxRetriesPerRequest: 0,
  autoResendUnfulfilledCommands: false,
  // Reconnects when a primary has become a replica (Redis Sentinel, a managed Redis that fails over).
  reconnectOnError: (error: Error) => error.message.startsWith('READONLY'),
} satisfies RedisOptions

/** Options of every connection, to a server or a Cluster. */
type Shared = typeof COMMON & ReturnType<typeof credentials> & { connectionName: string }

function credentials({ protocol, username, password }: URL, tls: TlsOptions | undefined) {
  return {
    ...(username !== '' && { username: decodeURIComponent(username) }),
    ...(password !== '' && { password: decodeURIComponent(password) }),
    // ioredis keeps this object and reads `secureContext` from it for each connection.
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
    send: (command) => sent(redis, command),
    primaries: () => [{ node, send: (command) => sent(redis, command) }],
    close: () => redis.disconnect(),
  }
}

function clusterClient(addresses: URL[], redisOptions: Shared, events: ClientEvents): Client {
  const options = {
    redisOptions,
    clusterRetryStrategy: backoff,
    slotsRefreshTimeout: CONNECT_MS,
    slotsRefreshInterval: SLOTS_REFRESH_MS,
    // When the Cluster reports that it is down, an immediate retry does not help.
    retryDelayOnClusterDown: 0,
    lazyConnect: true,
  }
  const cluster = new Cluster(addresses.map(endpoint), options)
  const servers = new Map<string, Redis>()
  const nodeOf = (command: Command) => cluster.slots[command.getSlot()]?.[0] ?? 'cluster'
  const started = new Promise<void>((resolve) => {
    cluster.once('ready', resolve)
    cluster.once('close', resolve)
  })
  cluster.on('+node', (redis: Redis) => {
    servers.set(addressOf(redis), redis)
    watch(addressOf(redis), redis, events)
    // Connects at once, so that a restored server is noticed without waiting for a command.
    if (redis.status === 'wait') redis.connect().catch(() => undefined)
  })
  cluster.on('-node', (redis: Redis) => void servers.delete(addressOf(redis)))
  cluster.on('error', (error: Error) => events.lost('cluster', error.message))
  cluster.on('ready', () => {
    const [redis] = cluster.nodes('master')
    if (redis !== undefined) events.ready('cluster', redis)
  })
  // The events report failures.
  cluster.connect().catch(() => undefined)
  return {
    started,
    isAway: () => cluster.status !== 'ready',
    nodeOf,
    send: (command) => sent(cluster, command, servers.get(nodeOf(command))),
    primaries: () =>
      cluster.nodes('master').map((redis) => ({
        node: addressOf(redis),
        send: (command) => sent(redis, command),
      })),
    close: () => cluster.disconnect(),
  }
}

/** Rejects for whatever ioredis throws. `server`: the one that gets the command, if known. */
function sent(
  client: Redis | Cluster,
  command: Command,
  server = client instanceof Redis ? client : undefined,
): Promise<unknown> {
  try {
    if (server !== undefined) holdWrites(server)
    return Promise.resolve(client.sendCommand(command))
  } catch (error) {
    return Promise.reject(error)
  }
}

/** The commands of a turn go to the kernel in one write: a write of its own costs 10 µs, more than the command. */
function holdWrites({ stream }: Redis): void {
  if (stream === undefined || stream.writableCorked > 0) return
  stream.cork()
  process.nextTick(() => stream.uncork())
}

function addressOf({ options: { host, port } }: Redis): string {
  return `${host}:${port}`
}

function watch(node: string, redis: Redis, events: ClientEvents): void {
  let reason = 'the connection was closed'
  redis.on('error', (error: Error) => {
    reason = error.message
  })
  redis.on('ready', () => events.ready(node, redis))
  redis.on('close', () => events.lost(node, reason))
}
