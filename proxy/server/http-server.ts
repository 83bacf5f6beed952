/** The HTTP server with its limits: what is no request of ours ends here, before any route sees it. */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { Duplex } from 'node:stream'
import { DIALECTS } from '../dialects/index.ts'
import { type ErrorCode, GatewayError } from '../errors.ts'
import { endWaiting } from './error-response.ts'
import { newRequestId } from './request-id.ts'
import type { Upgrades } from './upgrade.ts'

export interface HttpLimits {
  headersTimeoutMs: number
  requestTimeoutMs: number
  idleTimeoutMs: number
  maxConnections: number
}

const MAX_HEADER_BYTES = 16_384
const MAX_HEADERS = 100
const MAX_REQUESTS_PER_SOCKET = 1_000

export type Handler = (req: IncomingMessage, res: ServerResponse) => void

type Refusal = (req: IncomingMessage, res: ServerResponse, error: GatewayError) => void

export interface HttpHooks {
  /** Gets every request that is well-formed and acceptable. */
  handle: Handler
  /** Answers one that is not acceptable. */
  refuse: Refusal
  /** Answers one that is being served and whose body broke or never came. */
  breakOff: Refusal
  /** Which requests become another protocol, and what takes their connections then. */
  upgrades: Pick<Upgrades, 'should' | 'take'>
  /** True while no connection is to be kept. */
  draining(): boolean
}

export function createHttpServer(limits: HttpLimits, hooks: HttpHooks): Server {
  const checked: Handler = (req, res) => {
    if (hooks.draining()) res.setHeader('connection', 'close')
    const problem = problemOf(req)
    if (problem === undefined) hooks.handle(req, res)
    else {
      res.shouldKeepAlive = false
      hooks.refuse(req, res, problem)
    }
  }
  const server = createServer({
    headersTimeout: limits.headersTimeoutMs,
    requestTimeout: limits.requestTimeoutMs,
    connectionsCheckingInterval: 1_000,
    keepAliveTimeout: limits.idleTimeoutMs,
    maxHeaderSize: MAX_HEADER_BYTES,
    // Checked here, so that the refusal looks like all others.
    requireHostHeader: false,
    noDelay: true,
    // Without it Node would take all connections that ask, such as those of curl with its `Upgrade: h2c`.
    shouldUpgradeCallback: (req) => problemOf(req) === undefined && hooks.upgrades.should(req),
  })
  server.maxHeadersCount = MAX_HEADERS * 2
  server.maxRequestsPerSocket = MAX_REQUESTS_PER_SOCKET
  server.maxConnections = limits.maxConnections
  server.on('request', checked)
  // The body is asked for when it is read, so that a refusal costs the client no upload.
  server.on('checkContinue', checked)
  server.on('upgrade', (req, _socket, head) => hooks.upgrades.take(req, head))
  // Other expectations may be ignored (RFC 9110, section 10.1.1).
  server.on('checkExpectation', checked)
  server.on('clientError', (error, socket) => answerBrokenRequest(error, socket, hooks.breakOff))
  return server
}

/** What Node's parser lets pass although it is ambiguous between two proxies, or too much. */
function problemOf(req: IncomingMessage): GatewayError | undefined {
  const names = req.rawHeaders.filter((_, index) => index % 2 === 0)
  if (names.length > MAX_HEADERS)
    return new GatewayError('headers_too_large', `More than ${MAX_HEADERS} headers.`)
  if (!req.url?.startsWith('/'))
    return new GatewayError('invalid_request', 'The request target must be a path.')
  const hosts = names.filter((name) => name.toLowerCase() === 'host').length
  if (hosts > 1) return new GatewayError('invalid_request', 'The request has more than one Host header.')
  if (hosts === 0 && req.httpVersionMinor === 1)
    return new GatewayError('invalid_request', 'The request has no Host header.')
  if (req.httpVersionMajor !== 1 || (req.httpVersionMinor !== 0 && req.httpVersionMinor !== 1)) {
    return new GatewayError('invalid_request', 'The request must use HTTP/1.1.')
  }
  if (req.httpVersionMinor === 0 && req.headers['transfer-encoding'] !== undefined) {
    return new GatewayError('invalid_request', 'HTTP/1.0 knows no Transfer-Encoding.')
  }
  return undefined
}

const BY_PARSER_CODE: Record<string, [ErrorCode, string]> = {
  HPE_HEADER_OVERFLOW: ['headers_too_large', `The headers are larger than ${MAX_HEADER_BYTES} bytes.`],
  ERR_HTTP_REQUEST_TIMEOUT: ['request_timeout', 'The request was not sent in time.'],
}

/** A response of Node knows its request, and a socket the response that is next on it. */
type ServerSocket = Duplex & { _httpMessage?: ServerResponse | null }

/** Answers on the bare socket when there is no request object: for what does not parse or never became complete. */
function answerBrokenRequest(
  error: Error & { code?: string },
  socket: ServerSocket,
  breakOff: Refusal,
): void {
  // Null once its last response is over.
  const res = socket._httpMessage ?? undefined
  if (res !== undefined && endWaiting(res)) return
  // Behind the bytes of an answer under way, another one would be taken for part of it.
  if (!socket.writable || error.code === 'ECONNRESET' || res?.headersSent) {
    socket.destroy()
    return
  }
  const [code, message] = BY_PARSER_CODE[error.code ?? ''] ?? [
    'invalid_request',
    'This is not a valid HTTP/1.1 request.',
  ]
  const refusal = new GatewayError(code, message)
  // A peer that goes on sending must not keep the socket.
  setTimeout(() => socket.destroy(), 1_000).unref()
  // The body of a request that is being served broke or never came: the answer bears the id that the log will.
  if (res !== undefined && !res.req.complete) {
    res.shouldKeepAlive = false
    breakOff(res.req, res, refusal)
    return
  }
  const requestId = newRequestId()
  const body = JSON.stringify(DIALECTS.chat.errorBody(refusal, requestId))
  socket.end(
    `HTTP/1.1 ${refusal.status} ${STATUS_TEXT[refusal.status] ?? 'Bad Request'}\r\ncontent-type: application/json\r\n` +
      `content-length: ${Buffer.byteLength(body)}\r\nx-request-id: ${requestId}\r\nrequest-id: ${requestId}\r\n` +
      `connection: close\r\n\r\n${body}`,
  )
}

const STATUS_TEXT: Record<number, string> = { 408: 'Request Timeout', 431: 'Request Header Fields Too Large' }
