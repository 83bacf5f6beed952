/** Reads the error in an upstream's body, which may have any form. */
import { present } from '../../../../kit/present.ts'
import { isRecord, isText, listOf, tryParse } from '../json/value.ts'

export interface UpstreamError {
  /** The object with the error. */
  fields: Record<string, unknown>
  /** Its codes and types in lower case, the most specific first. */
  words: string[]
  /** The beginning of its message, where the known sentences are. */
  text: string
  /** The message alone, as the upstream wrote it. It must be sanitised before a client reads it. */
  message?: string
}

const MAX_TEXT = 2000

/** Reads a parsed body: an error body, a failed answer, or an event that carries an error. */
export function upstreamError(body: unknown): UpstreamError {
  const fields = errorObject(Array.isArray(body) ? body[0] : body)
  const details = isRecord(fields.details) ? fields.details : {}
  const words = [details.error_code, fields.code, fields.type, fields.status].filter(
    (word) => typeof word === 'string',
  )
  return {
    fields,
    words: words.map((word) => word.toLowerCase()),
    text: textOf(fields),
    ...present({ message: messageOf(fields) }),
  }
}

/** `error`, also of a failed response in an event, or the whole body if the upstream does not wrap its errors. */
function errorObject(body: unknown): Record<string, unknown> {
  if (!isRecord(body)) return {}
  if (isRecord(body.error)) return body.error
  if (typeof body.error === 'string') return { ...body, message: body.error }
  if (isRecord(body.response) && isRecord(body.response.error)) return body.response.error
  return body
}

/** Some upstreams keep the message of their own upstream in `metadata.raw`; others write `detail`. */
function textOf({ message, detail, metadata }: Record<string, unknown>): string {
  return [message, detail, isRecord(metadata) ? metadata.raw : undefined]
    .filter((text) => typeof text === 'string')
    .map((text) => text.slice(0, MAX_TEXT))
    .join('\n')
}

/** Some upstreams put the body of their own upstream into their message: then its message is used. */
const MAX_NESTED = 3

function messageOf(fields: Record<string, unknown>, depth = 0): string | undefined {
  const { message, detail, metadata } = fields
  const raw = isRecord(metadata) && typeof metadata.raw === 'string' ? metadata.raw : undefined
  const behind = raw === undefined ? undefined : nested(raw, depth)
  if (behind !== undefined) return behind
  const text = isText(message) ? message : detailOf(detail)
  if (text === undefined || /<(?:!doctype|html|body|head)\b/i.test(text)) return undefined
  return /^\s*[[{]/.test(text) ? nested(text, depth) : text
}

function nested(text: string, depth: number): string | undefined {
  const value = depth < MAX_NESTED ? tryParse(text) : undefined
  const found = errorObject(Array.isArray(value) ? value[0] : value)
  return messageOf(found, depth + 1)
}

/** `detail` is a text, or a list of faults with their places. */
function detailOf(detail: unknown): string | undefined {
  if (typeof detail === 'string') return detail
  const first = Array.isArray(detail) ? detail[0] : undefined
  if (!isRecord(first) || typeof first.msg !== 'string') return undefined
  const place = listOf(first.loc).filter(
    (step) => (typeof step === 'string' && step !== 'body') || typeof step === 'number',
  )
  return place.length === 0 ? first.msg : `${place.join('.')}: ${first.msg}`
}
