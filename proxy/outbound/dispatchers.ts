/** The connections to the upstreams: one dispatcher for each channel. */
import { isDeepStrictEqual } from 'node:util'
import type { Dispatcher } from 'undici'
import type { ChannelRecord } from '../../contract/table/records.ts'
import { type ConnectionShape, openerFor } from './connectors.ts'
import type { Outbound } from './settings.ts'

interface OpenChannel {
  dispatcher: Dispatcher
  /** The record of the last request. */
  channel: ChannelRecord
  shape: ConnectionShape
}

const DIRECT: Outbound = { proxyFor: () => undefined }

export class Dispatchers {
  readonly #channels = new Map<string, OpenChannel>()
  readonly #closing = new Set<Promise<void>>()
  readonly #open: (shape: ConnectionShape) => Dispatcher

  constructor(outbound: Outbound = DIRECT) {
    this.#open = openerFor(outbound)
  }

  /**
   * The dispatcher of a channel, for the next request. `key` is namespace/name. A channel whose origin, connect time-out
   * or TLS settings changed gets a new one; requests in flight finish on the old one.
   */
  get(key: string, channel: ChannelRecord): Dispatcher {
    const open = this.#channels.get(key)
    if (open?.channel === channel) return open.dispatcher
    const shape = shapeOf(channel)
    const same = open !== undefined && isDeepStrictEqual(open.shape, shape)
    if (open !== undefined && !same) this.#close(open.dispatcher)
    const dispatcher = same ? open.dispatcher : this.#open(shape)
    this.#channels.set(key, { dispatcher, shape, channel })
    return dispatcher
  }

  /** Closes the connections of all other channels once their requests in flight have finished. */
  retain(keys: Pick<ReadonlySet<string>, 'has'>): void {
    for (const [key, { dispatcher }] of this.#channels) {
      if (keys.has(key)) continue
      this.#channels.delete(key)
      this.#close(dispatcher)
    }
  }

  /** Resolves when all requests in flight have finished and all connections are closed. */
  async close(): Promise<void> {
    this.retain(new Set())
    await Promise.all(this.#closing)
  }

  #close(dispatcher: Dispatcher): void {
    const closing = dispatcher.close().finally(() => this.#closing.delete(closing))
    this.#closing.add(closing)
  }
}

function shapeOf(channel: ChannelRecord): ConnectionShape {
  return {
    origin: new URL(channel.baseURL).origin,
    connectTimeoutMs: channel.timeoutsMs.connect,
    tls: channel.tls,
  }
}
