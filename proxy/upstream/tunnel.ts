/** Connections to upstreams through the CONNECT method of an HTTP proxy (RFC 9110, section 9.3.6). */
import { type ClientRequest, request as httpRequest } from 'node:http'
import { request as httpsRequest } from 'node:https'
import { isIP, type Socket } from 'node:net'
import { connect as connectTls, type SecureContext, type TLSSocket } from 'node:tls'
import { errors } from 'undici'
import { ProxyFailed } from './failure.ts'
import { type HttpProxy, plainHost } from './proxies.ts'

/** A silent tunnel is probed, so that no box on the way forgets it. */
const TCP_KEEP_ALIVE_MS = 60_000

/** The end of a tunnel. */
export interface Target {
  /** IPv6 addresses without brackets. */
  hostname: string
  port: number
  /** Name to expect in its certificate; default `hostname`. */
  serverName?: string | undefined
  /** Absent: the default one. */
  secureContext?: SecureContext | undefined
}

/**
 * Opens a connection through `proxy` and speaks TLS in it. `trust` is for a proxy that speaks TLS itself. Rejects with
 * ProxyFailed when the proxy is away or refuses, with a ConnectTimeoutError when tunnel and handshake together take
 * longer than `timeoutMs`, and with the error of the handshake.
 */
export async function connectThrough(
  proxy: HttpProxy,
  trust: SecureContext | undefined,
  target: Target,
  timeoutMs: number,
): Promise<TLSSocket> {
  let current: ClientRequest | TLSSocket | undefined
  const timer = setTimeout(() => current?.destroy(new errors.ConnectTimeoutError()), timeoutMs)
  try {
    const { hostname: host, port } = target
    const request = connectRequest(proxy, trust, `${isIP(host) === 6 ? `[${host}]` : host}:${port}`)
    current = request
    const socket = await tunnelOf(request)
    const secured = connectTls({
      socket,
      host,
      servername: target.serverName ?? sentName(host),
      secureContext: target.secureContext,
      ALPNProtocols: ['http/1.1'],
    })
    current = secured
    return await handshakeOf(secured)
  } finally {
    clearTimeout(timer)
  }
}

/** Only names are told to a server (RFC 6066, section 3). Node would take the one of the Host header. */
const sentName = (host: string) => (isIP(host) === 0 ? host : '')

function connectRequest(
  { origin, headers }: HttpProxy,
  trust: SecureContext | undefined,
  authority: string,
): ClientRequest {
  const host = plainHost(origin.hostname)
  const options = {
    host,
    port: origin.port,
    method: 'CONNECT',
    path: authority,
    headers: { ...headers, host: authority },
    agent: false as const,
  }
  return origin.protocol === 'https:'
    ? httpsRequest({
        ...options,
        ...(trust !== undefined && { secureContext: trust }),
        servername: sentName(host),
      })
    : httpRequest(options)
}

function tunnelOf(request: ClientRequest): Promise<Socket> {
  return new Promise((resolve, reject) => {
    request.on('error', (error) =>
      reject(error instanceof errors.ConnectTimeoutError ? error : new ProxyFailed('the proxy is away')),
    )
    request.on('connect', ({ statusCode = 0 }, socket) => {
      socket.setKeepAlive(true, TCP_KEEP_ALIVE_MS)
      // A proxy that breaks off afterwards is noticed by the TLS in the tunnel.
      socket.on('error', () => undefined)
      if (statusCode >= 200 && statusCode < 300) resolve(socket)
      else {
        socket.destroy()
        reject(new ProxyFailed(`the proxy answered ${statusCode}`))
      }
    })
    request.end()
  })
}

function handshakeOf(socket: TLSSocket): Promise<TLSSocket> {
  return new Promise((resolve, reject) => {
    socket.once('secureConnect', () => resolve(socket))
    socket.on('error', reject)
  })
}
