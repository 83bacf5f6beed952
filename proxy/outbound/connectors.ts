/** How a channel is reached: directly, or through an HTTP proxy, with the TLS settings of the channel. */
import { createSecureContext, type SecureContext } from 'node:tls'
import { buildConnector, type Dispatcher, Pool } from 'undici'
import type { ChannelRecord } from '../../contract/table/records.ts'
import { proxyAgent } from './proxied.ts'
import type { Outbound } from './settings.ts'

/** The settings of a channel that its connections depend on. No other change needs new connections. */
export interface ConnectionShape {
  origin: string
  connectTimeoutMs: number
  tls: ChannelRecord['tls']
}

/** How long an idle connection is kept: below what servers and load balancers usually allow (60 s and more). */
const KEEP_ALIVE_MS = 30_000

const POOL: Pool.Options = {
  connections: null,
  pipelining: 1,
  allowH2: false,
  keepAliveTimeout: KEEP_ALIVE_MS,
  keepAliveMaxTimeout: KEEP_ALIVE_MS,
}

/** Opens the connections to channels. They share the authorities, which take long to parse. */
export function openerFor({ authorities, proxyFor }: Outbound): (shape: ConnectionShape) => Dispatcher {
  let shared: SecureContext | undefined
  const trusted = () => {
    if (authorities !== undefined) shared ??= createSecureContext({ ca: authorities })
    return shared
  }
  const contextOf = ({ ca, clientCertificate: own }: NonNullable<ChannelRecord['tls']>) =>
    ca === undefined && own === undefined ? trusted() : createSecureContext({ ca: ca ?? authorities, ...own })

  const open = (shape: ConnectionShape) => {
    const url = new URL(shape.origin)
    const proxy = proxyFor(url)
    const { origin, connectTimeoutMs: timeout, tls: own = {} } = shape
    const { serverName: servername } = own
    const secureContext = url.protocol === 'https:' ? contextOf(own) : undefined
    const tls = { ...(secureContext && { secureContext }), ...(servername !== undefined && { servername }) }
    if (proxy !== undefined)
      return proxyAgent(proxy, { timeoutMs: timeout, trust: trusted(), tls, pool: POOL })
    return new Pool(origin, { ...POOL, connect: buildConnector({ timeout, allowH2: false, ...tls }) })
  }
  return (shape) => {
    try {
      return open(shape)
    } catch (error) {
      // A certificate that cannot be used fails the requests of its channel, not the program.
      const failed = error instanceof Error ? error : new Error('no connector')
      const connect: buildConnector.connector = (_, callback) => queueMicrotask(() => callback(failed, null))
      return new Pool(shape.origin, { connect })
    }
  }
}
