/** Handshakes of WebSockets (RFC 6455, section 4.2): what is refused is answered like any other request. */
import { type IncomingMessage, ServerResponse } from 'node:http'
import { SOCKET_ENDPOINT } from '../../contract/endpoints.ts'
import { ENDPOINTS } from '../dialects/index.ts'
import { GatewayError } from '../errors.ts'
import { StoreTime } from '../ledger/store-time.ts'
import type { Gateway } from '../pipeline/gateway.ts'
import { addressOf, finish, identify, newRecord } from '../pipeline/request/journal.ts'
import { serve } from '../pipeline/serve.ts'
import type { SocketParts } from '../socket/connection.ts'
import type { Sockets } from '../socket/sockets.ts'
import type { RequestRecord } from '../telemetry/request-log.ts'
import type { AppEvents } from './app.ts'
import { sendError } from './error-response.ts'
import type { Overload } from './overload.ts'
import { newRequestId } from './request-id.ts'

const { path } = ENDPOINTS[SOCKET_ENDPOINT]
const PATHS: readonly string[] = [path, `/api${path}`]
const PROTOCOL = 'websocket'
const VERSION = '13'
/** 16 bytes in base64. */
const KEY = /^[+/0-9A-Za-z]{22}==$/
/** Time for a refused client to close its side. */
const LINGER_MS = 2_000

/** Who opened a socket, by its handshake: for messages that never become a call, and so authenticate nobody. */
const openers = new WeakMap<IncomingMessage, Opener>()

type Opener = Pick<RequestRecord, 'client' | 'key' | 'keyPreview' | 'namespace' | 'account'>

export interface UpgradeParts {
  gateway: Gateway
  overload: Overload
  sockets: Sockets
  draining(): boolean
  events: AppEvents
}

export interface Upgrades {
  /** False: the request goes on as one that never asked. Throws nothing. */
  should(req: IncomingMessage): boolean
  /** Takes the connection of a request that should be upgraded. */
  take(req: IncomingMessage, head: Buffer): void
  /** Why a GET of the path of sockets was not upgraded. */
  refusal(req: IncomingMessage): GatewayError
}

export function createUpgrades(parts: UpgradeParts): Upgrades {
  const problem = (req: IncomingMessage) => problemOf(req) ?? loadProblem(parts)
  return {
    should: (req) => req.method === 'GET' && isPath(req) && problem(req) === undefined,
    take: (req, head) => void take(parts, req, head),
    refusal(req) {
      // Routes do not mind a slash at the end.
      if (!isPath(req)) return new GatewayError('not_found', 'There is nothing at this path.')
      return problem(req) ?? required('This path is that of a WebSocket; send Connection: Upgrade.')
    },
  }
}

/** Headers that belong to the refusal of an upgrade. */
export const UPGRADE_HEADERS = { upgrade: PROTOCOL, 'sec-websocket-version': VERSION }

/** Carries out the calls of sockets as requests are: counted, shed under load, and noted when they are refused. */
export function socketCalls(
  gateway: Gateway,
  overload: Overload,
  events: AppEvents,
): Pick<SocketParts, 'serve' | 'refused' | 'newRequestId' | 'shutdown'> {
  const refused = (req: IncomingMessage, error: GatewayError, requestId = newRequestId()) => {
    const record = { ...newRecord(SOCKET_ENDPOINT, requestId, req), ...openers.get(req) }
    finish(gateway, record, error, 0, performance.now())
  }
  return {
    newRequestId,
    shutdown: gateway.shutdown,
    refused: (req, error) => refused(req, error),
    async serve(call) {
      let leave: () => void
      try {
        leave = overload.enter(() => addressOf(gateway, call.req))
      } catch (error) {
        const load = GatewayError.from(error)
        refused(call.req, load, call.requestId)
        throw load
      }
      try {
        await serve(gateway, call)
      } catch (error) {
        const told = GatewayError.from(error)
        if (told.code === 'internal_error') events.unexpected(told.cause, call.requestId)
        throw told
      } finally {
        leave()
      }
    },
  }
}

async function take(parts: UpgradeParts, req: IncomingMessage, head: Buffer): Promise<void> {
  const { gateway, sockets, events } = parts
  // Node has let go of the connection: nobody else hears of its errors.
  req.socket.on('error', () => req.socket.destroy())
  const startedAt = performance.now()
  const requestId = newRequestId()
  const record = newRecord(SOCKET_ENDPOINT, requestId, req)
  try {
    const caller = await identify(gateway, req, record, new StoreTime())
    const load = loadProblem(parts)
    if (load !== undefined) throw load
    const { client, key, keyPreview, namespace, account } = record
    openers.set(req, { client, key, keyPreview, namespace, account })
    // As ws wants it.
    req.headers.upgrade = PROTOCOL
    const revoked = new AbortController()
    const unwatch = gateway.revocation.watch(caller, record.client, revoked)
    if (req.socket.closed) unwatch()
    else req.socket.once('close', unwatch)
    sockets.accept(req, head, revoked.signal)
  } catch (error) {
    const told = GatewayError.from(error)
    if (told.code === 'internal_error') events.unexpected(told.cause, requestId)
    finish(gateway, record, told, 0, startedAt)
    answer(req, told, requestId)
  }
}

/** Writes a refusal on a connection that no server answers any more, and closes it. */
function answer(req: IncomingMessage, error: GatewayError, requestId: string): void {
  const { socket } = req
  if (socket.destroyed) return
  const res = new ServerResponse(req)
  res.shouldKeepAlive = false
  res.setHeader('x-request-id', requestId)
  res.setHeader('request-id', requestId)
  res.assignSocket(socket)
  res.once('finish', () => {
    res.detachSocket(socket)
    socket.end()
    // What the client still sends is dropped: unread bytes would cost it the answer.
    socket.resume()
    const cut = setTimeout(() => socket.destroy(), LINGER_MS).unref()
    socket.once('close', () => clearTimeout(cut))
  })
  sendError(req, res, error, requestId)
}

function problemOf(req: IncomingMessage): GatewayError | undefined {
  const { upgrade, 'sec-websocket-key': key, 'sec-websocket-version': version } = req.headers
  if (req.httpVersion !== '1.1' || !isOffered(upgrade))
    return required('This path takes POST, or a WebSocket.')
  // It would be taken for messages.
  if (hasBody(req)) return new GatewayError('invalid_request', 'A request for a WebSocket has no body.')
  if (version !== VERSION) return required(`Sec-WebSocket-Version must be ${VERSION}.`)
  if (key === undefined || !KEY.test(key))
    return new GatewayError('invalid_request', 'Sec-WebSocket-Key must be 16 bytes in base64.')
  return undefined
}

function loadProblem({ overload, draining }: UpgradeParts): GatewayError | undefined {
  if (!draining()) return loadOf(overload)
  const message = 'The gateway is shutting down; try again.'
  return new GatewayError('overloaded', message, { retryAfterSeconds: 1 })
}

function loadOf(overload: Overload): GatewayError | undefined {
  try {
    overload.check()
    return undefined
  } catch (error) {
    return GatewayError.from(error)
  }
}

function required(message: string): GatewayError {
  return new GatewayError('upgrade_required', message)
}

function isPath({ url }: IncomingMessage): boolean {
  return PATHS.includes(url?.split('?')[0] ?? '')
}

/** Of several protocols a server chooses (RFC 9110, section 7.8). */
function isOffered(upgrade: string | undefined): boolean {
  return upgrade?.split(',').some((name) => name.trim().toLowerCase() === PROTOCOL) ?? false
}

function hasBody({ headers }: IncomingMessage): boolean {
  const { 'content-length': length, 'transfer-encoding': coding } = headers
  return coding !== undefined || Number(length ?? 0) > 0
}
