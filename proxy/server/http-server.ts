/** The HTTP server with its limits: what is no request of ours ends here, before any route sees it. */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import { GatewayError } from '../errors.ts'
import { onSilence } from '../pipeline/request/client.ts'
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
    const queue = queueOf(req.socket)
    if (!join(queue, res)) return
    // Streams are cut off by those who write them.
    res.once('prefinish', () => onSilence(res, limits.clientStallMs, () => res.destroy()))
    const problem = requestProblem(req, limits)
    // Behind an upgrade that is not made, Node may lose the beginning of the next request.
    const isLast = queue.count >= limits.maxRequestsPerConnection || req.headers.upgrade !== undefined
    if (hooks.draining() || problem !== undefined || isLast) res.shouldKeepAlive = false
    if (problem === undefined) hooks.handle(req, res)
    else hooks.refuse(req, res, problem)
  }
  const server = createServer({
    headersTimeout: limits.headersTimeoutMs,
    requestTimeout: limits.requestTimeoutMs,
    connectionsCheckingInterval: 1_000,
    keepAliveTimeout: limits.idleTimeoutMs,
    maxHeaderSize: limits.maxHeaderBytes,
    // Checked here, so that the refusal looks like all others.
    requireHostHeader: false,
    noDelay: true,
    // Without it Node would take all connections that ask, such as those of curl with its `Upgrade: h2c`.
    shouldUpgradeCallback: (req) =>
      isFree(queueOf(req.socket)) && requestProblem(req, limits) === undefined && hooks.upgrades.should(req),
  })
  // One more shows that there are too many.
  server.maxHeadersCount = limits.maxHeaders + 1
  boundConnections(server, limits)
  server.on('request', checked)
  // The body is asked for when it is read, so that a refusal costs the client no upload.
  server.on('checkContinue', checked)
  server.on('upgrade', (req, _socket, head) => hooks.upgrades.take(req, head))
  // Other expectations may be ignored (RFC 9110, section 10.1.1).
  server.on('checkExpectation', checked)
  // Node has let go of the connection: nobody else hears of its errors.
  server.on('connect', (_req, socket) => {
    socket.on('error', () => socket.destroy()).resume()
    answerInTurn(socket, new GatewayError('invalid_request', 'This is no proxy for connections.'))
  })
  server.on('clientError', (error, socket) => answerBroken(error, socket, limits, hooks.breakOff))
  return server
}
