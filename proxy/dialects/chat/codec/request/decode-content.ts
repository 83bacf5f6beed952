/** Reads the content of a request's messages. */
import { GatewayError } from '../../../../errors.ts'
import { listAt, nameAt, optional, recordAt, stringAt } from '../../../core/json/checks.ts'
import { refusal } from '../../../core/json/fields.ts'
import type { Fields } from '../../../core/json/value.ts'
import { dataUrl, parseDataUrl } from '../../../core/neutral/media.ts'
import type {
  AudioPart,
  CacheMark,
  FilePart,
  ImagePart,
  Media,
  RefusalPart,
  TextPart,
} from '../../../core/neutral/types.ts'
import { extOf } from '../ext.ts'
import { CACHE_FIELDS, cacheSpelling, decodeCache } from './cache.ts'

export type ContentPart = TextPart | ImagePart | FilePart | AudioPart | RefusalPart

const AT = 'messages.content'
const TEXT = new Set(['type', 'text', ...CACHE_FIELDS])
const REFUSAL = new Set(['type', 'refusal'])
const IMAGE = new Set(['type', 'image_url', ...CACHE_FIELDS])
const IMAGE_URL = new Set(['url', 'detail'])
const FILE = new Set(['type', 'file', ...CACHE_FIELDS])
const FILE_FIELDS = new Set(['file_data', 'file_id', 'filename'])
const AUDIO = new Set(['type', 'input_audio'])
const AUDIO_FIELDS = new Set(['data', 'format'])

/** The parts of a message's content, and how it was spelled where that is not the way that we would choose. */
export function decodeContent(message: Fields, path: string): { parts: ContentPart[]; content?: string } {
  const { content } = message
  if (content === undefined) return { parts: [], content: 'absent' }
  if (content === null) return { parts: [] }
  if (typeof content === 'string') return { parts: [{ type: 'text', text: content }] }
  const parts = listAt(content, path).map((part, i) => decodePart(part, `${path}[${i}]`))
  const [only] = parts
  const couldBeString = parts.length === 1 && only !== undefined && isPlainText(only)
  return { parts, ...(couldBeString && { content: 'parts' }) }
}

/** A text with nothing to say but itself. */
export function isPlainText(part: { type: string; cache?: CacheMark; ext?: unknown }): boolean {
  return part.type === 'text' && part.cache === undefined && part.ext === undefined
}

function decodePart(value: unknown, path: string): ContentPart {
  const part = recordAt(value, path)
  const type = stringAt(part.type, `${path}.type`)
  switch (type) {
    case 'text':
      return {
        type,
        text: stringAt(part.text, `${path}.text`),
        ...decodeCache(part, path, AT),
        ...extOf(AT, part, TEXT, cacheSpelling(part)),
      }
    case 'refusal':
      return {
        type,
        text: stringAt(part.refusal, `${path}.refusal`),
        names: { refusal: `${AT}.refusal` },
        ...extOf(AT, part, REFUSAL),
      }
    case 'image_url':
      return decodeImage(part, path)
    case 'file':
      return decodeFile(part, path)
    case 'input_audio': {
      const audio = recordAt(part.input_audio, `${path}.input_audio`)
      return {
        type: 'audio',
        base64: stringAt(audio.data, `${path}.input_audio.data`),
        format: stringAt(audio.format, `${path}.input_audio.format`),
        ...extOf(AT, part, AUDIO, { inner: { name: 'input_audio', value: audio, known: AUDIO_FIELDS } }),
      }
    }
    default: {
      const param = `${path}.type`
      throw new GatewayError('unsupported_parameter', `${param} is not offered for this model.`, { param })
    }
  }
}

function decodeImage(part: Fields, path: string): ImagePart {
  const image = recordAt(part.image_url, `${path}.image_url`)
  const url = nameAt(image.url, `${path}.image_url.url`)
  const detail = optional(image.detail, `${path}.image_url.detail`, stringAt)
  const source: Media = parseDataUrl(url) ?? { kind: 'url', url }
  return {
    type: 'image',
    source,
    ...(detail !== undefined && { detail }),
    ...decodeCache(part, path, AT),
    ...extOf(AT, part, IMAGE, {
      ...cacheSpelling(part),
      inner: { name: 'image_url', value: image, known: IMAGE_URL },
      url: otherSpelling(url, source),
    }),
  }
}

function decodeFile(part: Fields, path: string): FilePart {
  const file = recordAt(part.file, `${path}.file`)
  const name = optional(file.filename, `${path}.file.filename`, stringAt)
  const id = optional(file.file_id, `${path}.file.file_id`, nameAt)
  const data = optional(file.file_data, `${path}.file.file_data`, nameAt)
  if (id === undefined && data === undefined) throw refusal(`${path}.file`, 'must have file_data or file_id')
  const source: Media = data === undefined ? { kind: 'id', id: id ?? '', vendor: 'openai' } : fileData(data)
  return {
    type: 'file',
    source,
    ...(name !== undefined && { name }),
    ...decodeCache(part, path, AT),
    ...extOf(AT, part, FILE, {
      ...cacheSpelling(part),
      inner: { name: 'file', value: file, known: FILE_FIELDS },
      url: data === undefined ? undefined : otherSpelling(data, source),
      kept: data !== undefined && id !== undefined ? { 'file.file_id': id } : {},
    }),
  }
}

/** A `data:` URL, or the base64 alone, which then is taken for the PDF that it mostly is. */
function fileData(data: string): Media {
  return parseDataUrl(data) ?? { kind: 'data', mediaType: 'application/pdf', base64: data }
}

/** The URL as it came when ours would be another one. */
function otherSpelling(url: string, source: Media): string | undefined {
  if (source.kind === 'url' || source.kind === 'id') return undefined
  return dataUrl(source) === url ? undefined : url
}
