/** Weighs the input of a request, for an upper bound on its tokens. */
import type { InputSize } from '../../../../contract/sizes.ts'
import { textWeight } from '../../../../contract/text.ts'
import type { JsonObject } from './body.ts'
import { type Fields, isRecord } from './value.ts'

/** The fields of a dialect's requests that hold input. */
export interface InputFields {
  /** Top-level fields that hold the conversation, which is weighed part by part. */
  conversation: readonly string[]
  /** Other top-level fields that reach the model as JSON, weighed whatever their size. */
  schemas: readonly string[]
  /** Top-level lists of tools. */
  tools: readonly string[]
  /** Fields in the conversation that the model does not read. */
  labels: ReadonlySet<string>
  /** Weighs an object whose weight is not the sum of its fields, such as an image; false for any other. */
  weighWhole(part: Fields, scale: Scale): boolean
}

/** Other top-level values count as text when they are larger than this. */
const LARGE_BYTES = 1024
const DATA_URL = /^data:[^,\s]{0,200};base64,/i
/** Fields that hold files. In any other field a `data:` URL is billed like any other text. */
const FILE_FIELD = /(?:url|data)$/i

class Scale {
  readonly size: InputSize = { textBytes: 0, images: 0, audioBytes: 0, fileBytes: 0, tools: 0 }
  readonly #fields: InputFields

  constructor(fields: InputFields) {
    this.#fields = fields
  }

  /** Adds the value of `field` of a message or part. The nesting limit of bodies bounds the recursion. */
  add(value: unknown, field = ''): void {
    if (typeof value === 'string') {
      // The colon of a data URL: most texts need no regular expression.
      if (value[4] === ':' && FILE_FIELD.test(field) && DATA_URL.test(value))
        this.size.fileBytes += decodedLength(value)
      else this.size.textBytes += textWeight(value)
    } else if (Array.isArray(value)) {
      for (const item of value) this.add(item, field)
    } else if (isRecord(value) && !this.#fields.weighWhole(value, this)) {
      for (const key of Object.keys(value)) if (!this.#fields.labels.has(key)) this.add(value[key], key)
    }
  }
}

export function weighInput({ value, members }: JsonObject, fields: InputFields): InputSize {
  const scale = new Scale(fields)
  const { conversation, schemas, tools } = fields
  for (const field of conversation) scale.add(value[field], field)
  for (const { rawKey, start, end } of members) {
    if (conversation.includes(rawKey)) continue
    const isSchema = schemas.includes(rawKey) && value[rawKey] !== null
    if (isSchema || end - start > LARGE_BYTES) scale.size.textBytes += end - start
  }
  for (const field of tools) {
    const list = value[field]
    if (Array.isArray(list)) scale.size.tools += list.length
  }
  return scale.size
}

/** Number of bytes in base64 text or a `data:` URL. */
export function decodedLength(data: unknown): number {
  if (typeof data !== 'string') return 0
  const payload = DATA_URL.test(data) ? data.length - data.indexOf(',') - 1 : data.length
  const padding = data.endsWith('==') ? 2 : data.endsWith('=') ? 1 : 0
  return Math.floor(((payload - padding) * 3) / 4)
}
