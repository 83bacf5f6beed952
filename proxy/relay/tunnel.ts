/** A way through an HTTP proxy (CONNECT: RFC 9110, section 9.3.6). */
import { request } from 'node:http'
import { request as requestTls } from 'node:https'
import { isIP, type Socket } from 'node:net'

/**
 * A connection to `destination`, an address and a port, through `proxy`. Rejects when the proxy refuses, is away, or
 * `signal` aborts.
 */
export function openTunnel(proxy: URL, destination: string, signal: AbortSignal): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const host = proxy.hostname.replace(/^\[|\]$/g, '')
    const ask = (proxy.protocol === 'https:' ? requestTls : request)({
      host,
      // Node would take the one of the Host header, which names the destination.
      servername: isIP(host) === 0 ? host : '',
      port: proxy.port === '' ? undefined : Number(proxy.port),
      method: 'CONNECT',
      path: destination,
      headers: { host: destination, ...credentialsOf(proxy) },
      agent: false,
      signal,
    })
    ask.on('connect', ({ statusCode = 0 }, socket: Socket, early: Buffer) => {
      // Bytes that come early are no answer to anything.
      if (statusCode >= 200 && statusCode < 300 && early.length === 0) return resolve(socket)
      socket.destroy()
      reject(new Error(`the proxy answered ${statusCode}`))
    })
    ask.on('error', reject)
    ask.end()
  })
}

function credentialsOf({ username, password }: URL): Record<string, string> {
  if (username === '' && password === '') return {}
  const pair = `${decodeURIComponent(username)}:${decodeURIComponent(password)}`
  return { 'proxy-authorization': `Basic ${Buffer.from(pair).toString('base64')}` }
}
