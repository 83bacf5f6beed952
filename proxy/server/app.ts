/** The routes of the API. Each is served at its own path and under /api. */
import type { IncomingMessage, ServerResponse } from 'node:http'
import express, { type Express, type NextFunction, type Request, type Response } from 'express'
import {
  ENDPOINT_NAMES,
  type EndpointName,
  SOCKET_ENDPOINT,
  STORED_ENDPOINT,
} from '../../contract/endpoints.ts'
import { ENDPOINTS } from '../dialects/index.ts'
import { GatewayError } from '../errors.ts'
import { addressOf } from '../pipeline/admission/admit.ts'
import { HttpClient } from '../pipeline/answer/http-client.ts'
import { bodyBounds, readBody } from '../pipeline/body/read-body.ts'
import { serveModel, serveModels } from '../pipeline/models/serve-models.ts'
import { type HttpRequest, requestControl } from '../pipeline/request/client.ts'
import { beginHead, requestIdIn } from '../pipeline/request/head.ts'
import type { Journal } from '../pipeline/request/journal.ts'
import { serve } from '../pipeline/serve.ts'
import {
  type StoredQuestion,
  serveStoredResponse,
} from '../pipeline/stored-responses/serve-stored-response.ts'
import { serveUsage } from '../pipeline/usage/serve-usage.ts'
import type { Relay } from '../relay/relay.ts'
import { serveRelay } from '../relay/serve-relay.ts'
import { sendError } from './error-response.ts'
import type { Handler } from './http-server.ts'
import type { ServerParts } from './parts.ts'
import { newRequestId } from './request-id.ts'
import { UPGRADE_HEADERS, type Upgrades } from './upgrade.ts'

/** Served at this path only, without a slash at the end. */
const RELAY_PATH = /^\/api\/proxy$/

type Method = 'GET' | 'POST' | 'DELETE'
type Serve<R> = (http: HttpRequest & { req: R }) => Promise<void>
type RoutedRequest = HttpRequest & { req: Request }

/** The request id of an answer; the first call makes it. */
function requestIdOf(res: ServerResponse): string {
  const known = requestIdIn(res)
  if (known !== undefined) return known
  const id = newRequestId()
  beginHead(res, id)
  return id
}

export interface AppParts extends ServerParts {
  relay: Relay
  upgrades: Pick<Upgrades, 'refusal'>
}

/**
 * Serves the endpoints at their exact paths itself: express changes the prototype of each request, which makes all later
 * code on it slower. Everything else goes to the app.
 */
export function createHandler(parts: AppParts): Handler {
  const app = createApp(parts)
  const calls = new Map(
    ENDPOINT_NAMES.flatMap((name) => {
      const handler = endpointHandler(parts, name)
      return both(ENDPOINTS[name].path).map((at) => [at, handler] as const)
    }),
  )
  return (req, res) => {
    const call = req.method === 'POST' ? calls.get(pathOf(req)) : undefined
    if (call === undefined) app(req, res)
    else call(req, res)
  }
}

function pathOf({ url = '' }: IncomingMessage): string {
  const end = url.indexOf('?')
  return end < 0 ? url : url.slice(0, end)
}

function endpointHandler(parts: AppParts, name: EndpointName): Handler {
  const { ports } = parts
  const { bodies } = ports
  const endpoint = { ...ENDPOINTS[name], name }
  const bounds = bodyBounds(bodies, name)
  return work(parts, ({ req, res, requestId, control }) =>
    serve(ports, {
      req,
      requestId,
      control,
      endpoint,
      client: new HttpClient(res, bodies.limits),
      read: () => readBody(req, res, bounds, endpoint.api),
    }),
  )
}

export function createApp(parts: AppParts): Express {
  const { ports, relay, upgrades } = parts
  const app = express()
  app.disable('x-powered-by')
  app.disable('etag')
  app.enable('case sensitive routing')
  // Endpoints that take a query read it with URLSearchParams.
  app.set('query parser', false)

  app.get(both(ENDPOINTS[SOCKET_ENDPOINT].path), (req, res, next) => {
    if (req.method !== 'GET') return next()
    const refusal = upgrades.refusal(req)
    if (refusal.code === 'upgrade_required') res.set(UPGRADE_HEADERS)
    throw refusal
  })
  for (const name of ENDPOINT_NAMES) {
    const { path, webSocket } = ENDPOINTS[name]
    // A GET of this path is answered above.
    const also = webSocket ? ['GET'] : []
    app.all(both(path), onlyOf(['POST'], also), endpointHandler(parts, name))
  }
  // Without this, other endpoints of the API that take a POST, such as input_tokens, would pass for the id of a response.
  const stored = `${ENDPOINTS[STORED_ENDPOINT].path}/:id`
  app.post(both(stored), nothingHere)
  const serveAt = (path: string | string[] | RegExp, methods: Method[], run: Serve<Request>) =>
    app.all(path, only(...methods), work(parts, run))
  const ask = (http: RoutedRequest, what: StoredQuestion['what']) =>
    serveStoredResponse(ports, http, { id: idOf(http.req), what, query: queryOf(http.req) })
  serveAt(both(stored), ['GET', 'DELETE'], (http) =>
    ask(http, http.req.method === 'DELETE' ? 'delete' : 'response'),
  )
  serveAt(both(`${stored}/input_items`), ['GET'], (http) => ask(http, 'input_items'))
  serveAt(both('/v1/models'), ['GET'], (http) => serveModels(ports, http))
  serveAt(both('/v1/models/*model'), ['GET'], (http) => serveModel(ports, http, modelOf(http.req)))
  serveAt(both('/v1/usage'), ['GET'], (http) => serveUsage(ports, http))
  serveAt(RELAY_PATH, ['POST'], (http) => serveRelay(ports, relay, http))
  app.use(nothingHere)
  app.use((error: unknown, req: Request, res: Response, _next: NextFunction) =>
    refuse(ports.journal, req, res, told(parts, res, error)),
  )
  return app
}

/** The error for the client; a fault of the gateway is reported. */
function told(
  { unexpected }: Pick<AppParts, 'unexpected'>,
  res: ServerResponse,
  error: unknown,
): GatewayError {
  const known = toGatewayError(error)
  if (known.code === 'internal_error') unexpected(known.cause, requestIdOf(res))
  return known
}

function nothingHere(): never {
  throw new GatewayError('not_found', 'There is nothing at this path.')
}

function both(path: string): string[] {
  return [path, `/api${path}`]
}

/** Answers other methods 405. */
function only(...methods: Method[]) {
  return onlyOf(methods.flatMap((method) => (method === 'GET' ? [method, 'HEAD'] : [method])))
}

/** `elsewhere`: methods that another route of the same path takes. */
function onlyOf(taken: readonly string[], elsewhere: readonly string[] = []) {
  const allowed = [...elsewhere, ...taken].join(', ')
  return (req: Request, res: Response, next: NextFunction) => {
    if (taken.includes(req.method)) return next()
    res.setHeader('allow', allowed)
    throw new GatewayError('method_not_allowed', `This path accepts ${allowed}.`)
  }
}

function idOf({ params: { id } }: Request): string {
  return typeof id === 'string' ? id : ''
}

function queryOf({ url }: IncomingMessage): URLSearchParams {
  return new URLSearchParams(url?.split('?')[1])
}

/** Counts a request, gives it its id, watches its client, and answers it if it fails. */
function work<R extends IncomingMessage>(parts: AppParts, run: Serve<R>) {
  const { ports, overload, shutdown } = parts
  return (req: R, res: ServerResponse): void => {
    let leave: () => void
    try {
      leave = overload.enter(() => addressOf(ports.admission, req))
    } catch (error) {
      refuse(ports.journal, req, res, told(parts, res, error))
      return
    }
    const requestId = requestIdOf(res)
    // An answer that the client does not read takes memory, so the request counts until the connection closes, too.
    let open = 2
    const over = () => {
      if (--open === 0) leave()
    }
    res.on('close', over)
    const failed = (error: unknown) => {
      over()
      // It has been logged already.
      sendError(req, res, told(parts, res, error), requestId)
    }
    try {
      run({ requestId, req, res, control: requestControl(res, shutdown) }).then(over, failed)
    } catch (error) {
      failed(error)
    }
  }
}

/** A model name may have slashes, which clients send plain or encoded. */
function modelOf(req: Request): string {
  const { model } = req.params
  return Array.isArray(model) ? model.join('/') : (model ?? '')
}

/** Express throws a URIError for a path that does not decode. */
function toGatewayError(error: unknown): GatewayError {
  if (error instanceof URIError)
    return new GatewayError('invalid_request', 'The path has invalid percent-encoding.')
  return GatewayError.from(error)
}

/** Refuses a request that no route serves, and logs it. */
export function refuse(
  journal: Journal,
  req: IncomingMessage,
  res: ServerResponse,
  error: GatewayError,
): void {
  const requestId = requestIdOf(res)
  journal.refused({ endpoint: 'none', requestId, req }, error)
  sendError(req, res, error, requestId)
}

/** Answers a request that is being served, instead of its route. */
export function breakOff(req: IncomingMessage, res: ServerResponse, error: GatewayError): void {
  sendError(req, res, error, requestIdOf(res))
}
