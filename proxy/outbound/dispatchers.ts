/** The connections to the upstreams. Channels of a namespace that connect alike, such as several keys of one vendor, share them. */
import { hash } from 'node:crypto'
import type { Dispatcher } from 'undici'
import type { ChannelRecord } from '../../contract/table/records.ts'
import { type ConnectionShape, openerFor } from './connectors.ts'
import type { Outbound } from './settings.ts'

/** Open connections, with the names of the channels that use them. */
interface Shared {
  name: string
  dispatcher: Dispatcher
  channels: Set<string>
}

interface OpenChannel {
  /** The record of the last request. */
  channel: ChannelRecord
  shared: Shared
}

const DIRECT: Outbound = { proxyFor: () => undefined }

export class Dispatchers {
  readonly #channels = new Map<string, OpenChannel>()
  readonly #shared = new Map<string, Shared>()
  readonly #closing = new Set<Promise<void>>()
  readonly #open: (shape: ConnectionShape) => Dispatcher

  constructor(outbound: Outbound = DIRECT) {
    this.#open = openerFor(outbound)
  }

  /**
   * The dispatcher of a channel, for the next request. `key` is namespace/name. A channel whose origin, connect time-out
   * or TLS settings changed gets another one; requests in flight finish on the old one.
   */
  get(key: string, channel: ChannelRecord): Dispatcher {
    const open = this.#channels.get(key)
    if (open?.channel === channel) return open.shared.dispatcher
    const shared = this.#sharedBy(key, channel)
    if (open !== undefined && open.shared !== shared) this.#leave(key, open.shared)
    shared.channels.add(key)
    this.#channels.set(key, { channel, shared })
    return shared.dispatcher
  }

  /** Closes connections that only other channels used, once their requests in flight have finished. */
  retain(keys: Pick<ReadonlySet<string>, 'has'>): void {
    for (const [key, { shared }] of this.#channels) {
      if (keys.has(key)) continue
      this.#channels.delete(key)
      this.#leave(key, shared)
    }
  }

  /** Resolves when all requests in flight have finished and all connections are closed. */
  async close(): Promise<void> {
    this.retain(new Set())
    await Promise.all(this.#closing)
  }

  #sharedBy(key: string, channel: ChannelRecord): Shared {
    const shape = shapeOf(channel)
    const name = nameOf(key, shape)
    const known = this.#shared.get(name)
    if (known !== undefined) return known
    const shared = { name, dispatcher: this.#open(shape), channels: new Set<string>() }
    this.#shared.set(name, shared)
    return shared
  }

  #leave(key: string, { name, dispatcher, channels }: Shared): void {
    channels.delete(key)
    if (channels.size > 0) return
    this.#shared.delete(name)
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

/** Namespaces share no connections. Hashed, because a shape may hold certificates and a private key. */
function nameOf(key: string, shape: ConnectionShape): string {
  const namespace = key.slice(0, key.indexOf('/'))
  return hash('sha256', JSON.stringify([namespace, shape]))
}
