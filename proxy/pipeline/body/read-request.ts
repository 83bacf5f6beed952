/** From the body of a call to a parsed request. */
import { keyHash } from '../../../contract/ids.ts'
import { after } from '../../../kit/soon.ts'
import type { Caller } from '../../auth/authenticate.ts'
import type { JsonLimits, ParsedRequest } from '../../dialects/core/request.ts'
import type { Call } from '../call.ts'
import type { AdmittedContext } from '../request/context.ts'
import type { BodyIntake } from './intake.ts'
import type { SharedBody } from './job.ts'
import { type WholeBody, withScan } from './read-body.ts'
import { openUpload, type Upload } from './upload.ts'

export interface ReadRequest {
  request: ParsedRequest
  /** The part of the body that is streamed while it arrives; dropped when the request is over. */
  upload?: Upload
}

/** Throws GatewayError for a body that is not a valid request of the endpoint, and ClientGone. */
export function readRequest(
  { limits, threads }: Pick<BodyIntake, 'limits' | 'threads'>,
  ctx: AdmittedContext,
  call: Call,
): Promise<ReadRequest> {
  const { api } = call.endpoint
  const from = performance.now()
  const bounds = boundsOf(call, limits.json)
  const { headers, url } = call.req
  const parse = (whole: WholeBody) => {
    const { bytes, shared } = whole
    if (shared === undefined) return api.parseRequest(bytes, withScan(bounds, whole), headers, url)
    return threads.parse(ctx.caller.hash, sharedBody(call, bounds, shared), ctx.cancel)
  }
  const noted = (read: ReadRequest) => {
    ctx.record.model = loggedModel(read.request.head.model, ctx.caller)
    ctx.record.stream = read.request.head.stream
    return read
  }
  // Nothing here keeps the body: once parsed it is in memory only until it is sent.
  const body = ctx.stage('body', () => call.read())
  return body.then((body) => {
    ctx.bodyRead(from)
    if ('prefix' in body) return noted(openUpload(api, body, ctx.control, limits.json.form))
    return after(
      ctx.stage('parse', () => parse(body)),
      (request) => noted({ request }),
    )
  })
}

/** The body of a call as threads take it. `json`: the limits of all bodies. */
export function sharedBody(call: Call, json: JsonLimits, bytes: SharedArrayBuffer): SharedBody {
  const { endpoint, req } = call
  const { headers, url } = req
  return { endpoint: endpoint.name, bytes, limits: boundsOf(call, json), headers, url }
}

function boundsOf({ generate }: Call, json: JsonLimits): JsonLimits {
  return { ...json, mayBeEmpty: generate === false }
}

/** Some clients send their key as the model; it must never be logged. */
function loggedModel(model: string, { hash, keyLength }: Caller): string {
  // The length first: few models are as long as the key, and need a hash.
  const isKey = (keyLength ?? model.length) === model.length && keyHash(model) === hash
  return model.startsWith('sk-') || isKey ? '***' : model
}
