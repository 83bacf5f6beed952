/** From the body of a call to a parsed request. */
import { keyHash } from '../../../contract/ids.ts'
import type { Caller } from '../../auth/authenticate.ts'
import type { ParsedRequest } from '../../dialects/core/request.ts'
import type { Call } from '../call.ts'
import type { AdmittedContext } from '../request/context.ts'
import type { BodyIntake } from './intake.ts'
import { openUpload, type Upload } from './upload.ts'

export interface ReadRequest {
  request: ParsedRequest
  /** The part of the body that is streamed while it arrives; dropped when the request is over. */
  upload?: Upload
}

/** Throws GatewayError for a body that is not a valid request of the endpoint, and ClientGone. */
export async function readRequest(
  bodies: Pick<BodyIntake, 'limits' | 'turns'>,
  ctx: AdmittedContext,
  call: Call,
): Promise<ReadRequest> {
  // The body must not outlive this function: once parsed it is in memory only until it is sent.
  const body = await ctx.stage('body', () => call.read())
  const read = Buffer.isBuffer(body)
    ? { request: await parse(bodies, ctx, call, body) }
    : openUpload(call.endpoint.api, body, ctx.control, bodies.limits.json.form)
  ctx.record.model = loggedModel(read.request.head.model, ctx.caller)
  ctx.record.stream = read.request.head.stream
  return read
}

function parse(
  { limits, turns }: Pick<BodyIntake, 'limits' | 'turns'>,
  ctx: AdmittedContext,
  { endpoint: { api }, generate }: Call,
  body: Buffer,
): Promise<ParsedRequest> {
  const bounds = { ...limits.json, mayBeEmpty: generate === false }
  return ctx.stage('parse', () =>
    turns.take(ctx.caller.hash, body.length, ctx.cancel, () =>
      api.parseRequest(body, bounds, ctx.req.headers, ctx.req.url),
    ),
  )
}

/** Some clients send their key as the model; it must never be logged. */
function loggedModel(model: string, { hash }: Caller): string {
  return model.startsWith('sk-') || keyHash(model) === hash ? '***' : model
}
