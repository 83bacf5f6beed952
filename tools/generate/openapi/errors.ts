/** Error answers: one for each family and status, with its possible codes. */
import { z } from 'zod'
import { CATALOGUE, type ErrorCode } from '../../../proxy/errors.ts'
import type { ErrorFamily, Operation } from './operation.ts'
import { named } from './schemas.ts'

/** Codes that only occur in events on a WebSocket. */
export const SOCKET_CODES = [
  'websocket_connection_limit_reached',
  'websocket_stream_limit_reached',
  'invalid_stream_id',
  'steering_not_supported',
] as const satisfies ErrorCode[]

/** Codes that any request may get. */
const ANYWHERE: readonly ErrorCode[] = [
  'invalid_request',
  'unauthorized',
  'account_disabled',
  'ip_not_allowed',
  'request_timeout',
  'headers_too_large',
  'rate_limit_exceeded',
  'internal_error',
  'store_unavailable',
  'overloaded',
]

/** Further codes of endpoints that call a model. */
export const MODEL_CALL: readonly ErrorCode[] = [
  'unsupported_parameter',
  'context_length_exceeded',
  'content_filter',
  'insufficient_balance',
  'model_not_allowed',
  'request_too_large',
  'unsupported_media_type',
  'upstream_error',
]

/** Statuses of an upstream that pass to the client when the caller is at fault. */
const KEPT: Record<number, readonly ErrorCode[]> = {
  413: ['invalid_request', 'context_length_exceeded', 'content_filter', 'request_too_large'],
  422: ['invalid_request', 'unsupported_parameter', 'context_length_exceeded', 'content_filter'],
}

/** The codes of an operation by status, including those with an upstream's own status. */
export function codesByStatus(operation: Operation): Map<number, ErrorCode[]> {
  const byStatus = new Map<number, ErrorCode[]>()
  const add = (status: number, code: ErrorCode) => {
    const codes = byStatus.get(status) ?? []
    if (!codes.includes(code)) byStatus.set(status, [...codes, code])
  }
  for (const code of [...ANYWHERE, ...operation.codes]) add(CATALOGUE[code].status, code)
  if (MODEL_CALL.every((code) => operation.codes.includes(code)))
    for (const [status, codes] of Object.entries(KEPT)) for (const code of codes) add(Number(status), code)
  return new Map([...byStatus].sort(([a], [b]) => a - b))
}

export function meaningOf(codes: readonly ErrorCode[]): string {
  return codes.map((code) => `\`${code}\`: ${CATALOGUE[code].meaning}`).join(' ')
}

const words = (type: 'openaiType' | 'anthropicType') =>
  z.enum([...new Set(Object.values(CATALOGUE).map((entry) => entry[type]))])
const code = z.string().describe('The gateway’s own code, the same in every family.')

const openai = z
  .strictObject({
    error: z.strictObject({
      message: z.string(),
      type: words('openaiType'),
      param: z.string().nullable().describe('The field at fault.'),
      code,
    }),
  })
  .register(named, { id: 'OpenAiError' })

const anthropic = z
  .strictObject({
    type: z.literal('error'),
    error: z.strictObject({
      type: words('anthropicType'),
      message: z.string(),
      code,
      param: z.string().optional().describe('The field at fault.'),
      details: z.looseObject({}).optional(),
    }),
    request_id: z.string(),
  })
  .register(named, { id: 'AnthropicError' })

const either = z
  .union([openai, anthropic])
  .describe('The second form is for clients that send `anthropic-version`.')
  .register(named, { id: 'EitherError' })

export const ERROR_SCHEMAS: Record<ErrorFamily, z.ZodType> = { openai, anthropic, either }

/** An error whose code is one of these. */
export function withCodes(codes: readonly ErrorCode[]): z.ZodType {
  return z.looseObject({ error: z.looseObject({ code: z.enum(codes) }) })
}
