/** Content parts of messages and of tool results, both ways. */

import { refusal } from '../../../core/json/fields.ts'
import { type Fields, isRecord } from '../../../core/json/value.ts'
import { keep } from '../../../core/neutral/keep.ts'
import { dataUrl, parseDataUrl, sniffMediaType } from '../../../core/neutral/media.ts'
import type {
  Annotation,
  AudioPart,
  CacheMark,
  FilePart,
  HostedPart,
  ImagePart,
  Media,
  Names,
  RefusalPart,
  TextPart,
  UserPart,
} from '../../../core/neutral/types.ts'
import type { Writer } from '../../../core/writer.ts'
import { cacheMark, fileName } from '../../../openai/fields.ts'
import type * as wire from '../../wire.ts'
import { readAnnotation } from '../answer/item-annotations.ts'
import * as schema from './schema.ts'

export type ContentPart = TextPart | ImagePart | FilePart | AudioPart | RefusalPart | HostedPart

/** Where a list of parts is: `path` for errors, `at` for the names of losses. */
interface Place {
  path: string
  at: string
}

// --- Reading ----------------------------------------------------------------------------------------------------------

const AT = 'input.content'
const TYPED: Record<ContentPart['type'], string[]> = {
  text: ['text', 'annotations', 'logprobs'],
  refusal: ['refusal'],
  image: ['detail'],
  file: ['filename'],
  audio: ['input_audio'],
  hosted: [],
}

/** Reads a string or a list of parts. Parts that `accepts` refuses become hosted parts. '' has no part. */
export function readContent<T extends ContentPart>(
  content: unknown,
  place: Place,
  accepts: (part: ContentPart) => part is T,
): (T | TextPart | HostedPart)[] {
  if (typeof content === 'string') return content === '' ? [] : [{ type: 'text', text: content }]
  if (!Array.isArray(content)) throw refusal(place.path, 'must be a string or an array of parts')
  return content.map((value: unknown, i) => {
    const path = `${place.path}[${i}]`
    const { type } = schema.check(schema.part, value, path)
    const item = isRecord(value) ? value : {}
    const part = readPart(type, item, path, place.at)
    if (part === undefined || !accepts(part)) {
      return { type: 'hosted', dialect: 'responses', name: type, item, names: { hosted: place.at } }
    }
    const names = namesOf(part, item, place.at)
    const kept = keep({ dialect: 'responses', at: place.at }, item, typedOf(part, item))
    return { ...part, ...(names && { names }), ...kept }
  })
}

/** The fields of a part that its neutral form contains. */
function typedOf(part: ContentPart, item: Fields): string[] {
  const typed = ['type', ...TYPED[part.type], ...('cache' in part ? ['prompt_cache_breakpoint'] : [])]
  const media = part.type === 'image' || part.type === 'file' ? mediaField(item) : undefined
  return media === undefined ? typed : [...typed, media]
}

/** The field that has the media; the first one counts if there are several. */
function mediaField(item: Fields): string | undefined {
  return ['image_url', 'file_data', 'file_url', 'file_id'].find((key) => item[key])
}

/** The names of fields for losses, where they differ from those of a message's parts. */
function namesOf({ type }: ContentPart, item: Fields, at: string): Names | undefined {
  const field = mediaField(item) ?? type
  const isUsual = field === 'image_url' || field === 'file_data'
  const media = type === 'image' || type === 'file'
  const names: Names = {
    ...(media && (at !== AT || !isUsual) && { [type]: `${at}.${field}` }),
    ...(at !== AT && type === 'image' && { 'image.detail': `${at}.detail` }),
    ...(at !== AT && 'prompt_cache_breakpoint' in item && { cacheMark: `${at}.prompt_cache_breakpoint` }),
  }
  return Object.keys(names).length > 0 ? names : undefined
}

/** Undefined for a type without a neutral form. */
function readPart(type: string, item: Fields, path: string, at: string): ContentPart | undefined {
  switch (type) {
    case 'input_text':
    case 'output_text':
    case 'text':
      return readText(item, path, at)
    case 'refusal':
      return { type: 'refusal', text: schema.check(schema.refusalPart, item, path).refusal }
    case 'input_image':
      return readImage(item, path)
    case 'input_file':
      return readFile(item, path)
    case 'input_audio': {
      const { data, format } = schema.check(schema.audioPart, item, path).input_audio
      return { type: 'audio', base64: data, format }
    }
    default:
      return undefined
  }
}

function readText(item: Fields, path: string, at: string): TextPart {
  const { text, annotations, logprobs } = schema.check(schema.textPart, item, path)
  const part: TextPart = { type: 'text', text, ...readCache(item) }
  const known = (annotations ?? []).map(readAnnotation).filter((annotation) => annotation !== undefined)
  if (known.length > 0) part.annotations = known.map((annotation) => placed(annotation, `${at}.annotations`))
  if (logprobs && logprobs.length > 0) part.logprobs = logprobs
  return part
}

function placed(annotation: Annotation, at: string): Annotation {
  if (annotation.type === 'other') return { ...annotation, ext: { ...annotation.ext, at } }
  return annotation
}

function readImage(item: Fields, path: string): ImagePart {
  const { image_url: url, file_id: id, detail } = schema.check(schema.imagePart, item, path)
  const rest = { ...(detail && { detail }), ...readCache(item) }
  if (url) return { type: 'image', source: readUrl(url, `${path}.image_url`), ...rest }
  if (id) return { type: 'image', source: { kind: 'id', id, vendor: 'openai' }, ...rest }
  throw refusal(path, 'must have an image_url or a file_id')
}

function readFile(item: Fields, path: string): FilePart {
  const { file_data: data, file_url: url, file_id: id, filename } = schema.check(schema.filePart, item, path)
  const rest = { ...(filename && { name: filename }), ...readCache(item) }
  if (data) return { type: 'file', source: readData(data, `${path}.file_data`), ...rest }
  if (url) return { type: 'file', source: readUrl(url, `${path}.file_url`), ...rest }
  if (id) return { type: 'file', source: { kind: 'id', id, vendor: 'openai' }, ...rest }
  throw refusal(path, 'must have a file_data, a file_url or a file_id')
}

function readUrl(url: string, path: string): Media {
  if (!/^data:/i.test(url)) return { kind: 'url', url }
  const media = parseDataUrl(url)
  if (media === undefined) throw refusal(path, 'must be a valid URL')
  return media
}

/** Some clients send base64 without the `data:` before it. */
function readData(data: string, path: string): Media {
  if (/^data:/i.test(data)) return readUrl(data, path)
  return { kind: 'data', mediaType: sniffMediaType(data) ?? 'application/octet-stream', base64: data }
}

function readCache(item: Fields): { cache?: CacheMark } {
  const mark = item.prompt_cache_breakpoint
  if (!isRecord(mark) || mark.mode !== 'explicit') return {}
  return { cache: mark.ttl === '30m' || mark.ttl === '12h' ? { ttl: mark.ttl } : {} }
}

// --- Writing ----------------------------------------------------------------------------------------------------------

/** Leaves out parts that only another dialect has. */
export function writeParts(parts: readonly UserPart[], writer: Writer): (wire.InputPart | Fields)[] {
  return parts.flatMap((part) =>
    part.type === 'hosted' ? writeHosted(part, writer) : writePart(part, writer),
  )
}

export function writeHosted(part: HostedPart, writer: Writer): Fields[] {
  if (part.dialect === 'responses') return [part.item]
  writer.lose('hosted', part)
  return []
}

function writePart(part: Exclude<UserPart, HostedPart>, writer: Writer): wire.InputPart {
  switch (part.type) {
    case 'text':
      return { type: 'input_text', text: part.text, prompt_cache_breakpoint: cacheMark(part, writer) }
    case 'image':
      return {
        type: 'input_image',
        image_url: dataOf(part.source) ?? urlOf(part.source),
        file_id: fileId('image', part, writer),
        detail: part.detail ?? 'auto',
        prompt_cache_breakpoint: cacheMark(part, writer),
      }
    case 'file':
      return {
        type: 'input_file',
        filename: part.name ?? ('mediaType' in part.source ? fileName(part.source.mediaType) : undefined),
        file_data: dataOf(part.source),
        file_url: urlOf(part.source),
        file_id: fileId('file', part, writer),
        prompt_cache_breakpoint: cacheMark(part, writer),
      }
    case 'audio':
      throw writer.refuse('audio', 'is not supported by this model', part)
  }
}

function dataOf(source: Media): string | undefined {
  return 'mediaType' in source ? dataUrl(source) : undefined
}

function urlOf(source: Media): string | undefined {
  return 'url' in source ? source.url : undefined
}

/** Throws GatewayError unsupported_parameter for a file that another vendor stores. */
function fileId(field: 'image' | 'file', part: ImagePart | FilePart, writer: Writer): string | undefined {
  const { source } = part
  if (source.kind !== 'id') return undefined
  if (source.vendor === 'openai') return source.id
  throw writer.refuse(field, 'names a file that the vendor of this model does not store', part)
}
