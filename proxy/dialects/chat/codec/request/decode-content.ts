/** Reads the content of a request's messages. */
import { GatewayError } from '../../../../errors.ts'
import { listAt, nameAt, optional, recordAt, stringAt } from '../../../core/json/checks.ts'
import { refusal } from '../../../core/json/fields.ts'
import type { Fields } from '../../../core/json/value.ts'
import { inside, keep } from '../../../core/neutral/keep.ts'
import { parseDataUrl } from '../../../core/neutral/media.ts'
import type {
  AudioPart,
  FilePart,
  ImagePart,
  Media,
  RefusalPart,
  TextPart,
} from '../../../core/neutral/types.ts'
import { CACHE_FIELDS, decodeCache, lostControl } from './cache.ts'

type ContentPart = TextPart | ImagePart | FilePart | AudioPart | RefusalPart

const AT = 'messages.content'
const HERE = { dialect: 'chat', at: AT } as const
const TEXT = new Set(['type', 'text', ...CACHE_FIELDS])
const REFUSAL = new Set(['type', 'refusal'])
const IMAGE = new Set(['type', 'image_url', ...CACHE_FIELDS])
const IMAGE_URL = new Set(['url', 'detail'])
const FILE = new Set(['type', 'file', ...CACHE_FIELDS])
const FILE_FIELDS = new Set(['file_data', 'file_id', 'filename'])
const AUDIO = new Set(['type', 'input_audio'])
const AUDIO_FIELDS = new Set(['data', 'format'])

/** The parts of a message's content. */
export function decodeContent({ content }: Fields, path: string): ContentPart[] {
  if (content === undefined || content === null) return []
  if (typeof content === 'string') return [{ type: 'text', text: content }]
  return listAt(content, path).map((part, i) => decodePart(part, `${path}[${i}]`))
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
        ...keep(HERE, part, TEXT, lostControl(part)),
      }
    case 'refusal':
      return {
        type,
        text: stringAt(part.refusal, `${path}.refusal`),
        names: { refusal: `${AT}.refusal` },
        ...keep(HERE, part, REFUSAL),
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
        ...keep(HERE, part, AUDIO, inside('input_audio', audio, AUDIO_FIELDS)),
      }
    }
    default: {
      const param = `${path}.type`
      throw new GatewayError('unsupported_parameter', `${param} is not supported for this model.`, { param })
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
    ...keep(HERE, part, IMAGE, { ...lostControl(part), ...inside('image_url', image, IMAGE_URL) }),
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
    ...keep(HERE, part, FILE, { ...lostControl(part), ...inside('file', file, FILE_FIELDS) }),
  }
}

/** Reads a `data:` URL, or bare base64, which usually is a PDF. */
function fileData(data: string): Media {
  return parseDataUrl(data) ?? { kind: 'data', mediaType: 'application/pdf', base64: data }
}
