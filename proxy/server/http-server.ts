/** The HTTP server with its limits. It refuses malformed requests before any route sees them. */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import { connectionAccepted } from '../../kit/turn.ts'
import { GatewayError } from '../errors.ts'
import { Incoming } from '../pipeline/body/receive.ts'
import { cutIfUnread } from '../pipeline/request/client.ts'
import { answerBroken, answerInTurn, type Refusal } from './broken-request.ts'
import { boundConnections, type ConnectionLimits } from './connection-bounds.ts'
import { type HeadLimits, requestProblem } from './request-problem.ts'
import { isFree, join, queueOf } from './request-queue.ts'
import type { Upgrades } from './upgrade.ts'

export interface HttpLimits extends HeadLimits, ConnectionLimits {
  headersTimeoutMs: number
  requestTimeoutMs: number
  idleTimeoutMs: number
  /** How long a whole answer may stay unread. */
  clientStallMs: number
  maxRequestsPerConnection: number
}

export type Handler = (req: IncomingMessage, res: ServerResponse) => void

interface HttpHooks {
  /** Serves a request that is well-formed and acceptable. */
  handle: Handler
  /** Answers a request that is not acceptable. */
  refuse: Refusal
  /** Answers a request that is being served and whose body broke or never arrived. */
  breakOff: Refusal
  /** Takes the connections of requests that become WebSockets. */
  upgrades: Pick<Upgrades, 'should' | 'take'>
  /** True: close each connection after its answer. */
  draining(): boolean
}

export function createHttpServer(limits: HttpLimits, hooks: HttpHooks): Server {
  const checked: Handler = (req, res) => {
    const queue = queueOf(req.socket)
    if (!join(queue, res)) return
    // Streams have a clock of their own (EventStream). `once` wraps each listener and removes it, for an event that comes once.
    res.on('prefinish', () => cutIfUnread(res, limits.clientStallMs))
    const problem = requestProblem(req, limits)
    // After an upgrade that was refused, Node may lose the beginning of the next request.
    const isLast = queue.count >= limits.maxRequestsPerConnection || req.headers.upgrade !== undefined
    if (hooks.draining() || problem !== undefined || isLast) res.shouldKeepAlive = false
    if (problem === undefined) hooks.handle(req, res)
    else hooks.refuse(req, res, problem)
  }
  const server = createServer({
    IncomingMessage: Incoming,
    headersTimeout: limits.headersTimeoutMs,
    requestTimeout: limits.requestTimeoutMs,
    connectionsCheckingInterval: 1_000,
    keepAliveTimeout: limits.idleTimeoutMs,
    maxHeaderSize: limits.maxHeaderBytes,
    // requestProblem checks it, so that the refusal looks like all others.
    requireHostHeader: false,
    noDelay: true,
    // Without it Node upgrades every connection with an Upgrade header, such as curl's `Upgrade: h2c`.
    shouldUpgradeCallback: (req) =>
      isFree(queueOf(req.socket)) && requestProblem(req, limits) === undefined && hooks.upgrades.should(req),
  })
  // One more than allowed, so that requestProblem sees that there are too many.
  server.maxHeadersCount = limits.maxHeaders + 1
  boundConnections(server, limits)
  server.on('connection', connectionAccepted)
  server.on('request', checked)
  // `100 Continue` is sent when the body is read, so that an earlier refusal saves the client the upload.
  server.on('checkContinue', checked)
  server.on('upgrade', (req, _socket, head) => hooks.upgrades.take(req, head))
  // Other expectations may be ignored (RFC 9110, section 10.1.1).
  server.on('checkExpectation', checked)
  // Node has let go of the connection: without a listener an error would end the process.
  server.on('connect', (_req, socket) => {
    socket.on('error', () => socket.destroy()).resume()
    answerInTurn(socket, new GatewayError('invalid_request', 'CONNECT is not supported.'))
  })
  server.on('clientError', (error, socket) => answerBroken(error, socket, limits, hooks.breakOff))
  return server
}
