/** The connections to the upstreams: one pool for each channel. */
import { isDeepStrictEqual } from 'node:util'
import { type Dispatcher, Pool } from 'undici'
import type { ChannelRecord } from '../../contract/table/records.ts'
import { type ConnectionShape, type Route, routesBy } from './connectors.ts'
import { forwardedBy } from './forwarding.ts'
import type { Outbound } from './outbound.ts'

/** How long an idle connection is kept: below what servers and load balancers usually allow (60 s and more). */
const KEEP_ALIVE_MS = 30_000

interface OpenPool {
  /** The pool itself, or what makes its requests ones for a proxy. */
  dispatcher: Dispatcher
  pool: Pool
  /** The record that it was last asked for with. */
  channel: ChannelRecord
  shape: ConnectionShape
}

const DIRECT: Outbound = { proxyFor: () => undefined }

export class Dispatchers {
  readonly #pools = new Map<string, OpenPool>()
  readonly #closing = new Set<Promise<void>>()
  readonly #routeOf: (shape: ConnectionShape) => Route

  constructor(outbound: Outbound = DIRECT) {
    this.#routeOf = routesBy(outbound)
  }

  /**
   * The pool of a channel, for the request that is sent next. `key` is namespace/name. A channel whose origin,
   * connect time-out or TLS settings changed gets a new pool; requests in flight finish on the old one.
   */
  get(key: string, channel: ChannelRecord): Dispatcher {
    const open = this.#pools.get(key)
    if (open?.channel === channel) return open.dispatcher
    const shape = shapeOf(channel)
    const same = open !== undefined && isDeepStrictEqual(open.shape, shape)
    if (open !== undefined && !same) this.#close(open.pool)
    const { pool, dispatcher } = same ? open : this.#open(shape)
    this.#pools.set(key, { pool, dispatcher, shape, channel })
    return dispatcher
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

  #open(shape: ConnectionShape): Pick<OpenPool, 'pool' | 'dispatcher'> {
    const { connect, forwarder } = this.#routeOf(shape)
    const pool = new Pool(forwarder?.origin.origin ?? shape.origin, {
      connections: null,
      pipelining: 1,
      allowH2: false,
      keepAliveTimeout: KEEP_ALIVE_MS,
      keepAliveMaxTimeout: KEEP_ALIVE_MS,
      connect,
    })
    return { pool, dispatcher: forwarder === undefined ? pool : pool.compose(forwardedBy(forwarder)) }
  }

  #close(pool: Pool): void {
    const closing = pool.close().finally(() => this.#closing.delete(closing))
    this.#closing.add(closing)
  }
}

function shapeOf(channel: ChannelRecord): ConnectionShape {
  return {
    origin: new URL(channel.baseURL).origin,
    connectTimeoutMs: channel.timeoutsMs.connect,
    ca: channel.tls?.ca,
    serverName: channel.tls?.serverName,
    clientCertificate: channel.tls?.clientCertificate,
  }
}
