/** The connections to the upstreams: one pool for each channel. */
import { type Dispatcher, Pool } from 'undici'
import type { ChannelRecord } from '../../contract/table/records.ts'

/** How long an idle connection is kept: below what servers and load balancers usually allow (60 s and more). */
const KEEP_ALIVE_MS = 30_000

interface OpenPool {
  pool: Pool
  /** The record that it was last asked for with. */
  channel: ChannelRecord
  shape: ConnectionShape
}

/** What of a channel goes into its connections; all else may change without new ones. */
interface ConnectionShape {
  origin: string
  connectTimeoutMs: number
  ca: string | undefined
  serverName: string | undefined
}

export class Dispatchers {
  readonly #pools = new Map<string, OpenPool>()
  readonly #closing = new Set<Promise<void>>()

  /**
   * The pool of a channel, for the request that is sent next. `key` is namespace/name. A channel whose origin,
   * connect time-out or TLS settings changed gets a new pool; requests in flight finish on the old one.
   */
  get(key: string, channel: ChannelRecord): Dispatcher {
    const open = this.#pools.get(key)
    if (open?.channel === channel) return open.pool
    const shape = shapeOf(channel)
    const same = open !== undefined && sameShape(open.shape, shape)
    if (open !== undefined && !same) this.#close(open.pool)
    const pool = same ? open.pool : openPool(shape)
    this.#pools.set(key, { pool, shape, channel })
    return pool
  }

  /** Closes the pools of all other channels once their requests in flight have finished. */
  retain(keys: Pick<ReadonlySet<string>, 'has'>): void {
    for (const [key, { pool }] of this.#pools) {
      if (keys.has(key)) continue
      this.#pools.delete(key)
      this.#close(pool)
    }
  }

  /** Resolves when all requests in flight have finished and all connections are closed. */
  async close(): Promise<void> {
    this.retain(new Set())
    await Promise.all(this.#closing)
  }

  #close(pool: Pool): void {
    const closing = pool.close().finally(() => this.#closing.delete(closing))
    this.#closing.add(closing)
  }
}

function openPool(shape: ConnectionShape): Pool {
  return new Pool(shape.origin, {
    connections: null,
    pipelining: 1,
    allowH2: false,
    keepAliveTimeout: KEEP_ALIVE_MS,
    keepAliveMaxTimeout: KEEP_ALIVE_MS,
    connect: { timeout: shape.connectTimeoutMs, ca: shape.ca, servername: shape.serverName },
  })
}

function shapeOf(channel: ChannelRecord): ConnectionShape {
  return {
    origin: new URL(channel.baseURL).origin,
    connectTimeoutMs: channel.timeoutsMs.connect,
    ca: channel.tls?.ca,
    serverName: channel.tls?.serverName,
  }
}

function sameShape(a: ConnectionShape, b: ConnectionShape): boolean {
  return (
    a.origin === b.origin &&
    a.connectTimeoutMs === b.connectTimeoutMs &&
    a.ca === b.ca &&
    a.serverName === b.serverName
  )
}
