/** Weighs the input of a messages request, for an upper bound of its tokens. */
import type { InputSize } from '../../../contract/sizes.ts'
import type { JsonObject } from '../json/body.ts'
import { isRecord } from '../json/value.ts'

/** Fields of messages and blocks that are no text for the model. */
const LABELS = new Set(['role', 'type', 'id', 'tool_use_id', 'file_id', 'media_type', 'cache_control', 'url'])
/** Top-level fields that reach the model as JSON. */
const SCHEMAS = new Set(['tools', 'output_config', 'output_format'])
/** Other top-level values count as text when they are larger than this. */
const LARGE_BYTES = 1024

export function weighInput({ value, members }: JsonObject): InputSize {
  const size: InputSize = { textBytes: 0, images: 0, audioBytes: 0, fileBytes: 0, tools: 0 }
  weigh(value.messages, size)
  weigh(value.system, size)
  for (const { rawKey, start, end } of members) {
    if (rawKey === 'messages' || rawKey === 'system') continue
    const isSchema = SCHEMAS.has(rawKey) && value[rawKey] !== null
    if (isSchema || end - start > LARGE_BYTES) size.textBytes += end - start
  }
  if (Array.isArray(value.tools)) size.tools += value.tools.length
  return size
}

/** Adds what `value`, a part of a message, holds. Recursion ends: the nesting of the body is bounded. */
function weigh(value: unknown, size: InputSize): void {
  if (typeof value === 'string') {
    size.textBytes += Buffer.byteLength(value)
  } else if (Array.isArray(value)) {
    for (const item of value) weigh(item, size)
  } else if (isRecord(value) && !weighWhole(value, size)) {
    for (const key of Object.keys(value)) if (!LABELS.has(key)) weigh(value[key], size)
  }
}

/** Adds what is not weighed field by field: images, base64 sources, the input of a tool. False for all else. */
function weighWhole(block: Record<string, unknown>, size: InputSize): boolean {
  if (block.type === 'image' && 'source' in block) {
    size.images++
    return true
  }
  if (block.type === 'base64' && typeof block.data === 'string') {
    size.fileBytes += decodedLength(block.data)
    return true
  }
  if (typeof block.type === 'string' && block.type.endsWith('tool_use') && isRecord(block.input)) {
    size.textBytes += Buffer.byteLength(JSON.stringify(block.input))
    weigh(block.name, size)
    return true
  }
  return false
}

/** Bytes that a base64 text stands for. */
function decodedLength(data: string): number {
  const padding = data.endsWith('==') ? 2 : data.endsWith('=') ? 1 : 0
  return Math.floor(((data.length - padding) * 3) / 4)
}
