/** What an upstream said, whatever its body looks like. Nothing of it is shown; sentences and classes are made from it. */
import { isRecord } from '../json/value.ts'

export interface UpstreamError {
  /** The object that says what happened. */
  fields: Record<string, unknown>
  /** Its codes and types in lower case, the most specific first. */
  words: string[]
  /** The beginning of its message: the sentences looked for stand there. */
  text: string
}

const MAX_TEXT = 2000

/** Reads a parsed body: an error body, an answer that failed, or an event that carries an error. */
export function upstreamError(body: unknown): UpstreamError {
  const fields = errorObject(Array.isArray(body) ? body[0] : body)
  const details = isRecord(fields.details) ? fields.details : {}
  const words = [details.error_code, fields.code, fields.type, fields.status].filter(
    (word) => typeof word === 'string',
  )
  return { fields, words: words.map((word) => word.toLowerCase()), text: textOf(fields) }
}

/** `error` itself, also of a failed response in an event, or the whole body of upstreams that do not wrap it. */
function errorObject(body: unknown): Record<string, unknown> {
  if (!isRecord(body)) return {}
  if (isRecord(body.error)) return body.error
  if (typeof body.error === 'string') return { ...body, message: body.error }
  if (isRecord(body.response) && isRecord(body.response.error)) return body.response.error
  return body
}

/** OpenRouter keeps the words of the upstream behind it in `metadata.raw`; FastAPI servers write `detail`. */
function textOf({ message, detail, metadata }: Record<string, unknown>): string {
  return [message, detail, isRecord(metadata) ? metadata.raw : undefined]
    .filter((text) => typeof text === 'string')
    .map((text) => text.slice(0, MAX_TEXT))
    .join('\n')
}
