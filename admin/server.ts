/** The admin port: metrics and health for everybody, the rest for those who hold the token or sit on this host. */
import { timingSafeEqual } from 'node:crypto'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import { isIPv6 } from 'node:net'
import type { Registry } from 'prom-client'
import { AddressSet } from '../contract/address.ts'
import { keyHash } from '../contract/ids.ts'

export interface AdminOptions {
  metrics: Registry
  /** Undefined when the process is ready for traffic, else the reason why not. */
  notReady(): string | undefined
  /** Guards `guarded`; without a token only loopback addresses may read, and only by a name of loopback. */
  token: string | undefined
  /** Path to what it shows, such as `/resources`. */
  guarded: Record<string, AdminPage>
}

/** Answers JSON for the query of a request. Throws AdminError for a question that it cannot answer. */
export type AdminPage = (query: URLSearchParams) => Promise<unknown>

/** Told to whoever asked, as `{"error": message}`. */
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
      const reason = options.notReady()
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
      'forbidden: send the admin token, or, where none is set, ask localhost from this host\n',
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
  // Digests have one length, so that comparing tells nothing about the token's.
  return (
    typeof given === 'string' && timingSafeEqual(Buffer.from(keyHash(given)), Buffer.from(keyHash(token)))
  )
}

/** `host` or `host:port` and nothing else (RFC 9112, section 3.2), an IPv6 address in brackets. */
const HOST = /^(?:\[([0-9a-f:.]{2,45})\]|([a-z0-9.-]{1,253}))(?::[0-9]{1,5})?$/i

/** A web page can make a browser on this host ask, by a name of its own that leads here (DNS rebinding). */
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
