/** Errors of calls, with messages that may be logged. */
import type { Dispatcher } from 'undici'
import { z } from 'zod'
import { jsonOf } from '../../contract/text.ts'
import { type KubeCall, KubeError } from './types.ts'

/** https://kubernetes.io/docs/reference/kubernetes-api/common-definitions/status/ */
export const statusSchema = z.looseObject({
  message: z.string().optional(),
  reason: z.string().optional(),
  code: z.number().optional(),
  details: z
    .looseObject({
      retryAfterSeconds: z.number().optional(),
      causes: z
        .array(z.looseObject({ field: z.string().optional(), reason: z.string().optional() }))
        .optional(),
    })
    .optional(),
})
type Status = z.infer<typeof statusSchema>

const MAX_BODY_CHARACTERS = 64 * 1024
const MAX_MESSAGE_CHARACTERS = 400

/** The error for an answer with a status of 300 or above. */
export async function errorOfAnswer(
  call: KubeCall,
  { statusCode, headers, body }: Dispatcher.ResponseData,
): Promise<KubeError> {
  const text = (await body.text()).slice(0, MAX_BODY_CHARACTERS)
  const { data: status = {} } = statusSchema.safeParse(jsonOf(text))
  const header = headers['retry-after']
  const seconds = typeof header === 'string' && /^\d+$/.test(header) ? Number(header) : undefined
  return statusError(call, { ...status, code: statusCode }, seconds)
}

/** `retryAfter`: seconds, from the header. */
export function statusError(call: KubeCall, status: Status, retryAfter?: number): KubeError {
  const { code = 500, reason, details } = status
  const seconds = retryAfter ?? details?.retryAfterSeconds
  return new KubeError(`${name(call)}: ${code} ${describe(status)}`, code, {
    reason,
    retryAfterMs: seconds === undefined ? undefined : seconds * 1_000,
  })
}

/** `timedOut`: the time of the call was over. */
export function errorOf(call: KubeCall, error: unknown, timedOut: boolean): KubeError {
  if (error instanceof KubeError) return error
  if (timedOut)
    return new KubeError(`${name(call)}: no answer within ${call.timeoutMs ?? 10_000} ms`, 0, {
      reason: 'Timeout',
    })
  if (call.signal?.aborted) return new KubeError(`${name(call)}: aborted`, 0, { reason: 'Aborted' })
  if (error instanceof SyntaxError) return new KubeError(`${name(call)}: the answer is not JSON`, 0)
  return new KubeError(`${name(call)}: ${reasonOf(error)}`, 0, { cause: error })
}

function name({ method = 'GET', path }: KubeCall): string {
  return `${method} ${path}`
}

/** The message about an invalid object quotes the object, so that only the names of its fields are used. */
function describe({ message, reason = '', code, details }: Status): string {
  if (code === 422 && details?.causes !== undefined) {
    const causes = details.causes.map(({ field = '', reason: why = '' }) => `${field}: ${why}`)
    return mask(`${reason} (${causes.join(', ')})`)
  }
  return mask(message ?? reason)
}

function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return 'failed'
  const code = 'code' in error && typeof error.code === 'string' ? error.code : error.name
  return mask(error.message === '' ? code : error.message)
}

/** Masks everything that looks like a token; on one line. */
function mask(text: string): string {
  return text
    .replace(/(?<![\w-])eyJ[\w-]+\.[\w-]+\.[\w-]*/g, '***')
    .replace(/bearer\s+\S+/gi, 'Bearer ***')
    .replace(/\s+/g, ' ')
    .slice(0, MAX_MESSAGE_CHARACTERS)
}
