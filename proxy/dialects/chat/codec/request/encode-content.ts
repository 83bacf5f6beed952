/** Writes the content of messages for an upstream. */
import { GatewayError } from '../../../../errors.ts'
import type { EncodeTarget } from '../../../core/codec.ts'
import type { TypedField } from '../../../core/neutral/losses.ts'
import { dataUrl } from '../../../core/neutral/media.ts'
import type { AudioPart, Extended, FilePart, ImagePart, TextPart } from '../../../core/neutral/types.ts'
import { fileName } from '../../../openai/fields.ts'
import type * as wire from '../../wire.ts'
import { cacheMark } from './cache.ts'

/** The target of a request, and its client's names for fields. */
export interface Writing extends EncodeTarget {
  /** The request's own names for fields. */
  request: Pick<Extended, 'names'>
}

/** @param owner of the field, if it is not the request itself. */
export function lose(writing: Writing, field: TypedField, owner?: Extended): void {
  writing.losses.lose(field, owner, writing.request)
}

/** The error for a field that has no equivalent in chat, by the client's name for it. */
export function unsupported(
  writing: Writing,
  field: TypedField,
  problem: string,
  owner?: Extended,
): GatewayError {
  const param = writing.losses.name(field, owner, writing.request)
  return new GatewayError('unsupported_parameter', `${param} ${problem}.`, { param })
}

export function encodePart(part: TextPart | ImagePart | FilePart | AudioPart, writing: Writing): wire.Part {
  switch (part.type) {
    case 'text':
      return encodeText(part, writing)
    case 'image':
      return encodeImage(part, writing)
    case 'file':
      return encodeFile(part, writing)
    case 'audio':
      return { type: 'input_audio', input_audio: { data: part.base64, format: part.format } }
  }
}

export function encodeText(part: TextPart, writing: Writing): wire.TextPart {
  return { type: 'text', text: part.text, prompt_cache_breakpoint: cacheMark(part, writing) }
}

/** A single plain text as a string, other parts as a list; undefined for no parts. */
export function contentOf<T extends wire.Part | wire.RefusalPart>(parts: T[]): string | T[] | undefined {
  const [only] = parts
  if (only === undefined) return undefined
  const isText = parts.length === 1 && only.type === 'text' && only.prompt_cache_breakpoint === undefined
  return isText ? only.text : parts
}

function encodeImage(part: ImagePart, writing: Writing): wire.ImagePart {
  const { source, detail } = part
  if (source.kind === 'id')
    throw unsupported(writing, 'image', 'names a file that the upstream does not have', part)
  const url = source.kind === 'url' ? source.url : dataUrl(source)
  const prompt_cache_breakpoint = cacheMark(part, writing)
  return { type: 'image_url', image_url: { url, detail }, prompt_cache_breakpoint }
}

function encodeFile(part: FilePart, writing: Writing): wire.FilePart {
  const { source, name } = part
  const file: wire.FilePart['file'] = {}
  if (source.kind === 'id') {
    if (source.vendor !== 'openai') throw unsupported(writing, 'file', 'names a file of another vendor', part)
    file.file_id = source.id
  } else if (source.kind === 'url') {
    throw unsupported(writing, 'file', 'must be inline for this model, not a URL', part)
  } else {
    file.file_data = dataUrl(source)
    // OpenAI refuses file data without a name.
    file.filename = fileName(source.mediaType)
  }
  if (name !== undefined) file.filename = name
  return { type: 'file', file, prompt_cache_breakpoint: cacheMark(part, writing) }
}
