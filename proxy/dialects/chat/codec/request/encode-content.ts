/** Writes the content of messages for an upstream. */
import { GatewayError } from '../../../../errors.ts'
import type { EncodeTarget } from '../../../core/dialect.ts'
import type { Fields } from '../../../core/json/value.ts'
import type { TypedField } from '../../../core/neutral/losses.ts'
import { dataUrl } from '../../../core/neutral/media.ts'
import type {
  ApiName,
  AudioPart,
  Ext,
  Extended,
  FilePart,
  ImagePart,
  RefusalPart,
  TextPart,
} from '../../../core/neutral/types.ts'
import { fileName } from '../../../openai/fields.ts'
import { restore, restoreInner, shapeOf } from '../ext.ts'
import { cacheMark } from './cache.ts'

/** For whom a request is written. */
export interface Writing extends EncodeTarget {
  source: ApiName
  /** The request, as far as it names its fields. */
  request: Pick<Extended, 'names'>
  /** The request came in this dialect: it is written as it came, whatever the features. */
  native: boolean
}

type Part = TextPart | ImagePart | FilePart | AudioPart | RefusalPart

/** `owner`: what the field belongs to, when that is not the request itself. */
export function lose(writing: Writing, field: TypedField, owner?: Extended): void {
  writing.losses.lose(field, owner, writing.request)
}

/** What chat cannot say, named as the client calls it. */
export function unsupported(
  writing: Writing,
  field: TypedField,
  problem: string,
  owner?: Extended,
): GatewayError {
  const param = writing.losses.name(field, owner, writing.request)
  return new GatewayError('unsupported_parameter', `${param} ${problem}.`, { param })
}

export function encodePart(part: Part, writing: Writing): Fields {
  switch (part.type) {
    case 'text':
      return restore({ type: 'text', text: part.text, ...cacheMark(part, writing) }, part.ext)
    case 'refusal':
      return restore({ type: 'refusal', refusal: part.text }, part.ext)
    case 'image':
      return encodeImage(part, writing)
    case 'file':
      return encodeFile(part, writing)
    case 'audio': {
      const input_audio = restoreInner({ data: part.base64, format: part.format }, part.ext, 'input_audio')
      return restore({ type: 'input_audio', input_audio }, part.ext, 'input_audio')
    }
  }
}

/** One plain text as a string, several parts as a list; undefined when there is nothing. */
export function contentOf(parts: Fields[], ext: Ext | undefined): string | Fields[] | undefined {
  const [only] = parts
  if (only === undefined) return undefined
  const isText = parts.length === 1 && only.type === 'text' && Object.keys(only).length === 2
  return isText && shapeOf(ext).content !== 'parts' ? String(only.text) : parts
}

function encodeImage(part: ImagePart, writing: Writing): Fields {
  const { source, detail, ext } = part
  if (source.kind === 'id')
    throw unsupported(writing, 'image', 'names a file that the upstream does not have', part)
  const url = shapeOf(ext).url ?? (source.kind === 'url' ? source.url : dataUrl(source))
  const image_url = restoreInner({ url, ...(detail !== undefined && { detail }) }, ext, 'image_url')
  return restore({ type: 'image_url', image_url, ...cacheMark(part, writing) }, ext, 'image_url')
}

function encodeFile(part: FilePart, writing: Writing): Fields {
  const { source, name, ext } = part
  const file: Fields = {}
  if (source.kind === 'id') {
    if (source.vendor !== 'openai') throw unsupported(writing, 'file', 'names a file of another vendor', part)
    file.file_id = source.id
  } else if (source.kind === 'url') {
    throw unsupported(writing, 'file', 'must be inline for this model, not a URL', part)
  } else {
    file.file_data = shapeOf(ext).url ?? dataUrl(source)
    // OpenAI refuses file data without a name.
    if (!writing.native) file.filename = fileName(source.mediaType)
  }
  if (name !== undefined) file.filename = name
  const whole = restoreInner(file, ext, 'file')
  return restore({ type: 'file', file: whole, ...cacheMark(part, writing) }, ext, 'file')
}
