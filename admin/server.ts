/** The admin port. Metrics and health are open; the rest needs the token, or without a token a loopback client. */
import { timingSafeEqual } from 'node:crypto'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import { isIPv6 } from 'node:net'
import type { Registry } from 'prom-client'
import { AddressSet } from '../contract/address.ts'
import { keyHash } from '../contract/ids.ts'

export interface AdminOptions {
  metrics: Pick<Registry, 'metrics' | 'contentType'>
  /** Why the process is not ready for traffic; undefined if it is. */
  notReady(): string | undefined | Promise<string | undefined>
  /** Needed for `guarded`. Without a token, only loopback clients may read, and only under a loopback host name. */
  token: string | undefined
  /** Protected pages by path, such as `/resources`. */
  guarded: Record<string, AdminPage>
}

/** Returns the JSON for a query. Throws AdminError for an invalid query. */
export type AdminPage = (query: URLSearchParams) => Promise<unknown>

/** An error that the client gets as `{"error": message}`. */
export class AdminError extends Error {
  override name = 'AdminError'
  readonly status: number
  constructor(status: number, message: string) {
    super(message)
    this.status = status
  }
}

const LOOPBACK = new AddressSet(['127.0.0.0/8', '::1'])

export function createAdminServer(options: AdminOptions): Server {
  return createServer((req, res) => {
    answer(options, req, res).catch(() => text(res, 500, 'internal error\n'))
  })
}

async function answer(options: AdminOptions, req: IncomingMessage, res: ServerResponse): Promise<void> {
  const [path = '', query = ''] = (req.url ?? '').split('?', 2)
  if (req.method !== 'GET' && req.method !== 'HEAD') return text(res, 405, 'method not allowed\n')
  switch (path) {
    case '/healthz':
      return text(res, 200, 'ok\n')
    case '/readyz': {
      const reason = await options.notReady()
      return text(res, reason === undefined ? 200 : 503, `${reason ?? 'ok'}\n`)
    }
    case '/metrics':
      return text(res, 200, await options.metrics.metrics(), options.metrics.contentType)
  }
  const show = Object.hasOwn(options.guarded, path) ? options.guarded[path] : undefined
  if (show === undefined) return text(res, 404, 'not found\n')
  if (!mayRead(options.token, req))
    return text(
      res,
      403,
      'forbidden: send the admin token; if none is set, send the request from this host to localhost\n',
    )
  try {
    return json(res, 200, await show(new URLSearchParams(query)))
  } catch (error) {
    if (!(error instanceof AdminError)) throw error
    return json(res, error.status, { error: error.message })
  }
}

function mayRead(token: string | undefined, req: IncomingMessage): boolean {
  if (token === undefined)
    return LOOPBACK.has(req.socket.remoteAddress ?? '') && namesLoopback(req.headers.host)
  const given = req.headers['x-sluice-admin-token']
  // Digests have the same length, so that the comparison does not reveal the length of the token.
  return (
    typeof given === 'string' && timingSafeEqual(Buffer.from(keyHash(given)), Buffer.from(keyHash(token)))
  )
}

/** `host` or `host:port` (RFC 9112, section 3.2), with IPv6 addresses in brackets. */
const HOST = /^(?:\[([0-9a-f:.]{2,45})\]|([a-z0-9.-]{1,253}))(?::[0-9]{1,5})?$/i

/** Without this check, a web page could use a browser on this host and a name that resolves to it (DNS rebinding). */
function namesLoopback(host: string | undefined): boolean {
  const [, address, name] = HOST.exec(host ?? '') ?? []
  if (address !== undefined) return isIPv6(address) && LOOPBACK.has(address)
  return name?.toLowerCase() === 'localhost' || LOOPBACK.has(name ?? '')
}

function json(res: ServerResponse, status: number, value: unknown): void {
  text(res, status, `${JSON.stringify(value, null, 2)}\n`, 'application/json')
}

function text(
  res: ServerResponse,
  status: number,
  body: string,
  contentType = 'text/plain; charset=utf-8',
): void {
  res.writeHead(status, { 'content-type': contentType, 'content-length': Buffer.byteLength(body) })
  res.end(body)
}
