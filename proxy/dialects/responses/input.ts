/** Weighs the input of a request, for an upper bound of its tokens. */
import type { InputSize } from '../../../contract/sizes.ts'
import type { JsonObject } from '../json/body.ts'
import { isRecord } from '../json/value.ts'

/** Fields of items and parts that are no text for the model. */
const LABELS = new Set(['role', 'type', 'id', 'call_id', 'file_id', 'detail', 'format', 'status', 'phase'])
/** Top-level fields that reach the model as JSON. */
const SCHEMAS = new Set(['tools', 'text'])
/** Other top-level values count as text when they are larger than this. */
const LARGE_BYTES = 1024
const DATA_URL = /^data:[^,\s]{0,200};base64,/

export function weighInput({ value, members }: JsonObject): InputSize {
  const size: InputSize = { textBytes: 0, images: 0, audioBytes: 0, fileBytes: 0, tools: 0 }
  weigh(value.input, size)
  weigh(value.instructions, size)
  for (const { rawKey, start, end } of members) {
    if (rawKey === 'input' || rawKey === 'instructions') continue
    const isSchema = SCHEMAS.has(rawKey) && value[rawKey] !== null
    if (isSchema || end - start > LARGE_BYTES) size.textBytes += end - start
  }
  if (Array.isArray(value.tools)) size.tools += value.tools.length
  return size
}

/** Adds what `value`, a part of the input, holds. Recursion ends: the nesting of the body is bounded. */
function weigh(value: unknown, size: InputSize): void {
  if (typeof value === 'string') {
    if (DATA_URL.test(value)) size.fileBytes += decodedLength(value)
    else size.textBytes += Buffer.byteLength(value)
  } else if (Array.isArray(value)) {
    for (const item of value) weigh(item, size)
  } else if (isRecord(value) && !weighMedia(value, size)) {
    for (const key of Object.keys(value)) if (!LABELS.has(key)) weigh(value[key], size)
  }
}

/** Adds an image, audio or file part; false when the object is none. */
function weighMedia(part: Record<string, unknown>, size: InputSize): boolean {
  if (part.type === 'input_image') {
    size.images++
    return true
  }
  if (part.type === 'input_audio' && isRecord(part.input_audio)) {
    size.audioBytes += decodedLength(part.input_audio.data)
    return true
  }
  if (part.type === 'input_file') {
    size.fileBytes += decodedLength(part.file_data)
    weigh(part.filename, size)
    return true
  }
  return false
}

/** Bytes that a base64 text or a data: URL stands for. */
function decodedLength(data: unknown): number {
  if (typeof data !== 'string') return 0
  const payload = DATA_URL.test(data) ? data.length - data.indexOf(',') - 1 : data.length
  const padding = data.endsWith('==') ? 2 : data.endsWith('=') ? 1 : 0
  return Math.floor(((payload - padding) * 3) / 4)
}
