/** How connections to the upstreams are made: directly or by way of an HTTP proxy, with what TLS needs. */
import { createSecureContext, type SecureContext } from 'node:tls'
import { buildConnector } from 'undici'
import type { ChannelRecord } from '../../contract/table/records.ts'
import { ProxyFailed } from './failure.ts'
import type { Outbound } from './outbound.ts'
import type { HttpProxy } from './proxies.ts'
import { connectThrough } from './tunnel.ts'

/** What of a channel goes into its connections; all else may change without new ones. */
export interface ConnectionShape {
  origin: string
  connectTimeoutMs: number
  ca: string | undefined
  serverName: string | undefined
  clientCertificate: NonNullable<ChannelRecord['tls']>['clientCertificate']
}

export interface Route {
  connect: buildConnector.connector
  /** Where `connect` leads to, with the requests; undefined: to the upstream. */
  forwarder: HttpProxy | undefined
}

/** Gives the way to a channel. One for all channels, since the public authorities are many to read. */
export function routesBy({ authorities, proxyFor }: Outbound): (shape: ConnectionShape) => Route {
  let shared: SecureContext | undefined
  const trusted = () => {
    if (authorities !== undefined) shared ??= createSecureContext({ ca: authorities })
    return shared
  }
  const contextOf = ({ ca, clientCertificate: own }: ConnectionShape) =>
    ca === undefined && own === undefined ? trusted() : createSecureContext({ ca: ca ?? authorities, ...own })

  return (shape) => {
    const url = new URL(shape.origin)
    const proxy = proxyFor(url)
    const { connectTimeoutMs: timeout, serverName: servername } = shape
    if (url.protocol === 'http:') {
      if (proxy === undefined) return { connect: buildConnector({ timeout }), forwarder: undefined }
      const connect = lazily(() => buildConnector({ timeout, allowH2: false, secureContext: trusted() }))
      return { connect: toProxy(connect), forwarder: proxy }
    }
    const connect = lazily(() => {
      const secureContext = contextOf(shape)
      if (proxy === undefined) return buildConnector({ timeout, allowH2: false, servername, secureContext })
      return tunnelled(proxy, trusted(), { serverName: servername, secureContext }, timeout)
    })
    return { connect, forwarder: undefined }
  }
}

function tunnelled(
  proxy: HttpProxy,
  trust: SecureContext | undefined,
  tls: { serverName: string | undefined; secureContext: SecureContext | undefined },
  timeoutMs: number,
): buildConnector.connector {
  return ({ hostname, port }, callback) => {
    const target = { ...tls, hostname, port: port === '' ? 443 : Number(port) }
    connectThrough(proxy, trust, target, timeoutMs).then(
      (socket) => callback(null, socket),
      (error: Error) => callback(error, null),
    )
  }
}

/** Makes the connector when it is needed; where that throws, the connection fails. */
function lazily(make: () => buildConnector.connector): buildConnector.connector {
  let made: buildConnector.connector | undefined
  return (options, callback) => {
    try {
      made ??= make()
    } catch (error) {
      queueMicrotask(() => callback(error instanceof Error ? error : new Error('no connector'), null))
      return
    }
    made(options, callback)
  }
}

/** The name in its certificate is its own, not that of the Host header; what goes wrong but a time-out is its fault. */
function toProxy(connect: buildConnector.connector): buildConnector.connector {
  return ({ servername: _upstream, ...options }, callback) =>
    connect(options, (...[error, socket]) => {
      if (error === null) callback(null, socket)
      else callback(isTimeout(error) ? error : new ProxyFailed('the proxy is away'), null)
    })
}

const isTimeout = (error: Error) => error.name === 'ConnectTimeoutError'
