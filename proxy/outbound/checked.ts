/** Connects to a checked address, and to no other: a new connection, with TLS for the URL's name. It resolves no name. */
import { once } from 'node:events'
import { connect, isIP, type Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import { connect as connectTls } from 'node:tls'
import { unmap } from '../../contract/address.ts'
import { GatewayError } from '../errors.ts'
import { tunnelsOf } from './proxied.ts'
import type { HttpProxy } from './proxies.ts'

/** The destination of a relayed request. All of it was checked, so nothing is resolved again. */
export interface CheckedTarget {
  /** Parsed by the WHATWG rules, without user, fragment and trailing dot. */
  url: URL
  /** In lower case, without brackets and trailing dot. */
  hostname: string
  port: number
  /** At least one; of a name IPv4 first. No zones, no IPv4-mapped ones. */
  addresses: readonly string[]
}

export interface ConnectOptions {
  /** Time until the connection can be used. */
  connectMs: number
  /** Undefined: none. */
  proxy: HttpProxy | undefined
  /** Checks the address that a direct connection reached. */
  isAllowed(address: string, target: CheckedTarget): boolean
}

/** How long one of several addresses may take before the next one is tried. */
const MAX_ATTEMPT_MS = 1_000
const MIN_ATTEMPT_MS = 10
const TCP_KEEPALIVE_MS = 30_000

/** Rejects with GatewayError upstream_error, or with the reason of `signal`. The caller must destroy the connection. */
export async function connectTo(
  target: CheckedTarget,
  { connectMs, proxy, isAllowed }: ConnectOptions,
  signal: AbortSignal,
): Promise<Duplex> {
  const limit = new AbortController()
  const stop = () => limit.abort()
  const timer = setTimeout(stop, connectMs)
  signal.addEventListener('abort', stop)
  let socket: Duplex | undefined
  try {
    signal.throwIfAborted()
    if (proxy !== undefined) socket = await tunnelTo(target, proxy, connectMs, limit.signal)
    else {
      const direct = connectDirectly(target, connectMs)
      socket = direct
      await once(direct, 'connect', { signal: limit.signal })
      if (!isAllowed(unmap(direct.remoteAddress ?? ''), target)) throw new Error('another address')
    }
    socket.on('error', ignore)
    if (target.url.protocol === 'https:') socket = await secure(socket, target.hostname, limit.signal)
    return socket
  } catch {
    // The cause does not help a caller, and may reveal more than a caller should know.
    socket?.on('error', ignore).destroy()
    signal.throwIfAborted()
    throw new GatewayError('upstream_error', 'The upstream could not be reached.')
  } finally {
    clearTimeout(timer)
    signal.removeEventListener('abort', stop)
  }
}

function connectDirectly({ addresses, port }: CheckedTarget, connectMs: number): Socket {
  const checked = addresses.map((address) => ({ address, family: isIP(address) }))
  const attemptMs = Math.min(MAX_ATTEMPT_MS, Math.floor(connectMs / checked.length))
  return connect({
    // Node does not call `lookup` for an address, hence a name. It is never sent.
    host: 'checked',
    port,
    lookup: (_name, _options, done) => done(null, checked),
    autoSelectFamily: true,
    autoSelectFamilyAttemptTimeout: Math.max(MIN_ATTEMPT_MS, attemptMs),
    noDelay: true,
    keepAlive: true,
    keepAliveInitialDelay: TCP_KEEPALIVE_MS,
  })
}

/** The proxy gets an address, never the name, which it would look up a second time. */
async function tunnelTo(
  { addresses, port }: CheckedTarget,
  proxy: HttpProxy,
  connectMs: number,
  signal: AbortSignal,
): Promise<Duplex> {
  const [address = ''] = addresses
  const path = isIP(address) === 6 ? `[${address}]:${port}` : `${address}:${port}`
  const tunnels = tunnelsOf(proxy, undefined, connectMs)
  try {
    const headers = { ...proxy.headers, host: path }
    return (await tunnels.connect({ origin: proxy.origin, path, headers, signal })).socket
  } finally {
    // The open tunnel no longer belongs to the pool.
    void tunnels.destroy()
  }
}

/** TLS over an open connection; the certificate must be that of `hostname`. */
async function secure(tcp: Duplex, hostname: string, signal: AbortSignal): Promise<Duplex> {
  const socket = connectTls({
    socket: tcp,
    host: hostname,
    // An address cannot be a server name (RFC 6066, section 3); the certificate is then compared with `host`.
    ...(isIP(hostname) === 0 && { servername: hostname }),
    ALPNProtocols: ['http/1.1'],
    // Even if the environment disables the check.
    rejectUnauthorized: true,
  })
  socket.on('error', ignore)
  try {
    await once(socket, 'secureConnect', { signal })
  } catch (error) {
    socket.destroy()
    throw error
  }
  return socket
}

/** For sockets whose failure shows when they close. */
function ignore(): void {}
