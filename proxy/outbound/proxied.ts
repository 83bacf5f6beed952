/** Connects through an HTTP proxy, with undici's ProxyAgent: plain HTTP is forwarded, TLS runs in a tunnel (CONNECT:
 * RFC 9110, section 9.3.6). Failures of the proxy become ProxyFailed, so that they do not count against an upstream.
 */
import type { SecureContext } from 'node:tls'
import { buildConnector, type Dispatcher, errors, Pool, ProxyAgent } from 'undici'
import { ProxyFailed } from './failure.ts'
import type { HttpProxy } from './proxies.ts'

interface ProxiedOptions {
  /** For the connection to the proxy; and for a tunnel, together with the TLS handshake inside. */
  timeoutMs: number
  /** For a proxy that speaks TLS; undefined: the public authorities. */
  trust: SecureContext | undefined
  /** For TLS in a tunnel. */
  tls: buildConnector.BuildOptions
  pool: Pool.Options
}

export function proxyAgent(proxy: HttpProxy, { timeoutMs, trust, tls, pool }: ProxiedOptions): ProxyAgent {
  const uri = proxy.origin.href
  return new ProxyAgent({
    uri,
    headers: proxy.headers,
    requestTls: { allowH2: false, timeout: timeoutMs, ...tls },
    clientFactory: () => tunnelsOf(proxy, trust, timeoutMs),
    factory: (origin, options) => {
      // ProxyAgent opens one pool to the proxy for forwarded requests, and one to each origin behind a tunnel.
      const connect =
        origin === uri ? toProxy(trust, timeoutMs) : within(timeoutMs, (options as Tunnelled).connect)
      return new Pool(origin, { ...pool, connect })
    },
  })
}

/** Opens tunnels by its method `connect`, which rejects with a ProxyFailed or a ConnectTimeoutError. */
export function tunnelsOf(
  { origin }: HttpProxy,
  trust: SecureContext | undefined,
  timeoutMs: number,
): Dispatcher.ComposedDispatcher {
  return new Pool(origin, { allowH2: false, connect: toProxy(trust, timeoutMs) }).compose(failWithProxy)
}

const failWithProxy: Dispatcher.DispatcherComposeInterceptor = (dispatch) => (options, handler) =>
  dispatch(options, {
    onRequestStart: (controller, context) => handler.onRequestStart?.(controller, context),
    onRequestUpgrade: (controller, status, headers, socket) => {
      // A server that sends bytes before the request is not the requested upstream.
      const isOpen = status >= 200 && status < 300 && socket.readableLength === 0
      // ProxyAgent accepts only 200 as success.
      if (isOpen) return handler.onRequestUpgrade?.(controller, 200, headers, socket)
      socket.on('error', () => undefined).destroy()
      handler.onResponseError?.(controller, new ProxyFailed(`the proxy answered ${status}`))
    },
    onResponseError: (controller, error) => handler.onResponseError?.(controller, proxyFault(error)),
  })

/** Connects to the proxy. Its certificate must have its own name, not that of the Host header. */
function toProxy(trust: SecureContext | undefined, timeoutMs: number): buildConnector.connector {
  const connect = buildConnector({
    timeout: timeoutMs,
    allowH2: false,
    ...(trust && { secureContext: trust }),
  })
  return ({ servername: _upstream, ...options }, callback) =>
    connect(options, (...[error, socket]) => {
      if (error === null) callback(null, socket)
      else callback(proxyFault(error), null)
    })
}

function proxyFault(error: Error): Error {
  return error instanceof errors.ConnectTimeoutError ? error : new ProxyFailed('the proxy is away')
}

/** ProxyAgent's connector. It passes `signal` to its CONNECT request. */
interface Tunnelled {
  connect(options: buildConnector.Options & { signal: AbortSignal }, callback: buildConnector.Callback): void
}

/** Bounds tunnel and handshake together: ProxyAgent itself waits for the answer to CONNECT forever. */
function within(timeoutMs: number, connect: Tunnelled['connect']): buildConnector.connector {
  return (options, callback) => {
    const limit = new AbortController()
    const timer = setTimeout(() => {
      limit.abort()
      callback(new errors.ConnectTimeoutError(), null)
    }, timeoutMs)
    connect({ ...options, signal: limit.signal }, (...result) => {
      clearTimeout(timer)
      if (limit.signal.aborted) result[1]?.destroy()
      else callback(...result)
    })
  }
}
