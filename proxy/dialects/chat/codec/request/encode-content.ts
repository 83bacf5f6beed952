/** Writes the content of messages for an upstream. */
import { dataUrl } from '../../../core/neutral/media.ts'
import type { AudioPart, FilePart, ImagePart, TextPart } from '../../../core/neutral/types.ts'
import type { Writer } from '../../../core/writer.ts'
import { cacheMark, fileName } from '../../../openai/fields.ts'
import type * as wire from '../../wire.ts'

export function encodePart(part: TextPart | ImagePart | FilePart | AudioPart, writer: Writer): wire.Part {
  switch (part.type) {
    case 'text':
      return encodeText(part, writer)
    case 'image':
      return encodeImage(part, writer)
    case 'file':
      return encodeFile(part, writer)
    case 'audio':
      return { type: 'input_audio', input_audio: { data: part.base64, format: part.format } }
  }
}

export function encodeText(part: TextPart, writer: Writer): wire.TextPart {
  return { type: 'text', text: part.text, prompt_cache_breakpoint: cacheMark(part, writer) }
}

/** A single plain text as a string, other parts as a list; undefined for no parts. */
export function contentOf<T extends wire.Part | wire.RefusalPart>(parts: T[]): string | T[] | undefined {
  const [only] = parts
  if (only === undefined) return undefined
  const isText = parts.length === 1 && only.type === 'text' && only.prompt_cache_breakpoint === undefined
  return isText ? only.text : parts
}

function encodeImage(part: ImagePart, writer: Writer): wire.ImagePart {
  const { source, detail } = part
  if (source.kind === 'id') throw writer.refuse('image', 'names a file that the upstream does not have', part)
  const url = source.kind === 'url' ? source.url : dataUrl(source)
  const prompt_cache_breakpoint = cacheMark(part, writer)
  return { type: 'image_url', image_url: { url, detail }, prompt_cache_breakpoint }
}

function encodeFile(part: FilePart, writer: Writer): wire.FilePart {
  const { source, name } = part
  const file: wire.FilePart['file'] = {}
  if (source.kind === 'id') {
    if (source.vendor !== 'openai') throw writer.refuse('file', 'names a file of another vendor', part)
    file.file_id = source.id
  } else if (source.kind === 'url') {
    throw writer.refuse('file', 'must be inline for this model, not a URL', part)
  } else {
    file.file_data = dataUrl(source)
    // OpenAI refuses file data without a name.
    file.filename = fileName(source.mediaType)
  }
  if (name !== undefined) file.filename = name
  return { type: 'file', file, prompt_cache_breakpoint: cacheMark(part, writer) }
}
