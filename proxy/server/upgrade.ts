/** Handshakes of WebSockets (RFC 6455, section 4.2). A refused one is answered like any other request. */

import { type IncomingMessage, ServerResponse } from 'node:http'
import { SOCKET_ENDPOINT } from '../../contract/endpoints.ts'
import { Cancel } from '../../kit/cancel.ts'
import { ENDPOINTS } from '../dialects/index.ts'
import { GatewayError } from '../errors.ts'
import { addressOf, admit } from '../pipeline/admission/admit.ts'
import { beginHead } from '../pipeline/request/head.ts'
import { serve } from '../pipeline/serve.ts'
import type { SocketParts } from '../socket/connection.ts'
import type { Sockets } from '../socket/sockets.ts'
import type { RequestRecord } from '../telemetry/request-log.ts'
import { destroyAfterLinger } from './bare-answer.ts'
import { sendError } from './error-response.ts'
import type { ServerParts } from './parts.ts'
import { newRequestId } from './request-id.ts'

const { path } = ENDPOINTS[SOCKET_ENDPOINT]
const PATHS: readonly string[] = [path, `/api${path}`]
const PROTOCOL = 'websocket'
const VERSION = '13'
/** 16 bytes in base64. */
const KEY = /^[+/0-9A-Za-z]{22}==$/
/** Time for a refused client to close its side. */
const LINGER_MS = 2_000

/** The opener of a socket, by its handshake; for the log of messages that are refused before they authenticate. */
const openers = new WeakMap<IncomingMessage, Opener>()

type Opener = Pick<RequestRecord, 'client' | 'key' | 'keyPreview' | 'namespace' | 'account'>

interface UpgradeParts extends Pick<ServerParts, 'ports' | 'overload' | 'unexpected'> {
  sockets: Sockets
  draining(): boolean
}

export interface Upgrades {
  /** False: the request is served without an upgrade. Never throws. */
  should(req: IncomingMessage): boolean
  /** Takes the connection of a request that should be upgraded. */
  take(req: IncomingMessage, head: Buffer): void
  /** Why a GET of the sockets' path was not upgraded. */
  refusal(req: IncomingMessage): GatewayError
}

export function createUpgrades(parts: UpgradeParts): Upgrades {
  const problem = (req: IncomingMessage) => problemOf(req) ?? loadProblem(parts)
  return {
    should: (req) => req.method === 'GET' && isPath(req) && problem(req) === undefined,
    take: (req, head) => void take(parts, req, head),
    refusal(req) {
      // Express routes also match with a slash at the end.
      if (!isPath(req)) return new GatewayError('not_found', 'There is nothing at this path.')
      return problem(req) ?? required('This path is that of a WebSocket; send Connection: Upgrade.')
    },
  }
}

/** Headers of a refused upgrade. */
export const UPGRADE_HEADERS = { upgrade: PROTOCOL, 'sec-websocket-version': VERSION }

/** Serves the calls of sockets like requests: counted, refused under load, and logged when they are refused. */
export function socketCalls({
  ports,
  overload,
  shutdown,
  unexpected,
}: ServerParts): Pick<SocketParts, 'serve' | 'refused' | 'newRequestId' | 'shutdown'> {
  const refused = (req: IncomingMessage, error: GatewayError, requestId = newRequestId()) =>
    ports.journal.refused({ endpoint: SOCKET_ENDPOINT, requestId, req, known: openers.get(req) ?? {} }, error)
  return {
    newRequestId,
    shutdown,
    refused,
    async serve(call) {
      let leave: () => void
      try {
        leave = overload.enter(() => addressOf(ports.admission, call.req))
      } catch (error) {
        const load = GatewayError.from(error)
        refused(call.req, load, call.requestId)
        throw load
      }
      try {
        await serve(ports, call)
      } catch (error) {
        const known = GatewayError.from(error)
        if (known.code === 'internal_error') unexpected(known.cause, call.requestId)
        throw known
      } finally {
        leave()
      }
    },
  }
}

async function take(parts: UpgradeParts, req: IncomingMessage, head: Buffer): Promise<void> {
  const { ports, sockets, unexpected } = parts
  const { admission, journal } = ports
  // Node has let go of the connection: without a listener an error would end the process.
  req.socket.on('error', () => req.socket.destroy())
  const requestId = newRequestId()
  const control = new Cancel()
  // A handshake that succeeds is not logged: the calls of its socket are.
  const arrival = { endpoint: SOCKET_ENDPOINT, requestId, req, control, status: () => 0, failuresOnly: true }
  try {
    await journal.run(arrival, async (arrived) => {
      const { caller, record } = await admit(admission, arrived)
      const load = loadProblem(parts)
      if (load !== undefined) throw load
      const { client, key, keyPreview, namespace, account } = record
      openers.set(req, { client, key, keyPreview, namespace, account })
      // ws compares the header with this exact value.
      req.headers.upgrade = PROTOCOL
      // The key is watched as long as the socket is open, which is longer than the handshake.
      const unwatch = admission.revocation.watch(caller, client, control)
      if (req.socket.closed) unwatch()
      else req.socket.once('close', unwatch)
      sockets.accept(req, head, control.signal)
    })
  } catch (error) {
    const known = GatewayError.from(error)
    if (known.code === 'internal_error') unexpected(known.cause, requestId)
    answer(req, known, requestId)
  }
}

/** Writes a refusal on a connection that Node has let go of, and closes it. */
function answer(req: IncomingMessage, error: GatewayError, requestId: string): void {
  const { socket } = req
  if (socket.destroyed) return
  const res = new ServerResponse(req)
  res.shouldKeepAlive = false
  beginHead(res, requestId)
  res.assignSocket(socket)
  res.once('finish', () => {
    res.detachSocket(socket)
    socket.end()
    // Without this, unread bytes reset the connection and the client loses the answer.
    socket.resume()
    destroyAfterLinger(socket, LINGER_MS)
  })
  sendError(req, res, error, requestId)
}

function problemOf(req: IncomingMessage): GatewayError | undefined {
  const { upgrade, 'sec-websocket-key': key, 'sec-websocket-version': version } = req.headers
  if (req.httpVersion !== '1.1' || !isOffered(upgrade))
    return required('This path accepts POST, or a WebSocket.')
  // Its body would pass for messages.
  if (hasBody(req))
    return new GatewayError('invalid_request', 'A request for a WebSocket must not have a body.')
  if (version !== VERSION) return required(`Sec-WebSocket-Version must be ${VERSION}.`)
  if (key === undefined || !KEY.test(key))
    return new GatewayError('invalid_request', 'Sec-WebSocket-Key must be 16 bytes in base64.')
  return undefined
}

function loadProblem({ overload, draining }: UpgradeParts): GatewayError | undefined {
  if (!draining()) return overload.problem()
  const message = 'The gateway is shutting down; try again.'
  return new GatewayError('overloaded', message, { retryAfterSeconds: 1 })
}

function required(message: string): GatewayError {
  return new GatewayError('upgrade_required', message)
}

function isPath({ url }: IncomingMessage): boolean {
  return PATHS.includes(url?.split('?')[0] ?? '')
}

/** The client may offer several protocols, and the server chooses (RFC 9110, section 7.8). */
function isOffered(upgrade: string | undefined): boolean {
  return upgrade?.split(',').some((name) => name.trim().toLowerCase() === PROTOCOL) ?? false
}

function hasBody({ headers }: IncomingMessage): boolean {
  const { 'content-length': length, 'transfer-encoding': coding } = headers
  return coding !== undefined || Number(length ?? 0) > 0
}
