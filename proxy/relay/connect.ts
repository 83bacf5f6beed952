/**
 * The one connection of a relayed call: to an address that was checked and to no other, with TLS for the URL's host
 * inside. Names are never looked up here.
 */
import { once } from 'node:events'
import { connect, isIP, type Socket } from 'node:net'
import { connect as connectTls } from 'node:tls'
import { unmap } from '../../contract/address.ts'
import { GatewayError } from '../errors.ts'
import type { RelayTarget } from './address/policy.ts'
import { openTunnel } from './tunnel.ts'

export interface ConnectOptions {
  /** For everything until the connection can be used. */
  connectMs: number
  /** HTTP proxy to go through; undefined: none. */
  proxy: URL | undefined
  /** Judges the address that a socket came to. */
  isAllowed(address: string, target: RelayTarget): boolean
}

/** How long one of several addresses may take before the next one is tried. */
const MAX_ATTEMPT_MS = 1_000
const MIN_ATTEMPT_MS = 10
const TCP_KEEPALIVE_MS = 30_000

/** Rejects with GatewayError upstream_error, or with the reason of `signal`. Whoever gets the socket must destroy it. */
export async function connectTo(
  target: RelayTarget,
  { connectMs, proxy, isAllowed }: ConnectOptions,
  signal: AbortSignal,
): Promise<Socket> {
  const limit = new AbortController()
  const stop = () => limit.abort()
  const timer = setTimeout(stop, connectMs)
  signal.addEventListener('abort', stop)
  let socket: Socket | undefined
  try {
    signal.throwIfAborted()
    if (proxy !== undefined) socket = await openTunnel(proxy, destinationOf(target), limit.signal)
    else {
      socket = connectDirectly(target, connectMs)
      await once(socket, 'connect', { signal: limit.signal })
      if (!isAllowed(unmap(socket.remoteAddress ?? ''), target)) throw new Error('another address')
    }
    socket.on('error', ignore)
    if (target.url.protocol === 'https:') socket = await secure(socket, target.hostname, limit.signal)
    return socket
  } catch {
    // What went wrong is of no use to a caller, and may say more than it should know.
    socket?.on('error', ignore).destroy()
    signal.throwIfAborted()
    throw new GatewayError('upstream_error', 'The upstream could not be reached.')
  } finally {
    clearTimeout(timer)
    signal.removeEventListener('abort', stop)
  }
}

function connectDirectly({ addresses, port }: RelayTarget, connectMs: number): Socket {
  const checked = addresses.map((address) => ({ address, family: isIP(address) }))
  const attemptMs = Math.min(MAX_ATTEMPT_MS, Math.floor(connectMs / checked.length))
  return connect({
    // A name, because of an address Node would ask no `lookup`; it goes nowhere.
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

/** The proxy gets an address, never the name: it would look the name up a second time. */
function destinationOf({ addresses, port }: RelayTarget): string {
  const [address = ''] = addresses
  return isIP(address) === 6 ? `[${address}]:${port}` : `${address}:${port}`
}

/** TLS over an open connection; the certificate must be that of `hostname`. */
async function secure(tcp: Socket, hostname: string, signal: AbortSignal): Promise<Socket> {
  const socket = connectTls({
    socket: tcp,
    host: hostname,
    // An address is no server name (RFC 6066, section 3); the certificate is compared with `host` then.
    ...(isIP(hostname) === 0 && { servername: hostname }),
    ALPNProtocols: ['http/1.1'],
    // Also where the environment says otherwise.
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

/** A socket that nobody waits for any more fails by its closing. */
function ignore(): void {}
