/** Media in `data:` URLs, and media types found from their bytes. */
import type { Media, ModelRequest } from './types.ts'

/** Enough base64 for the longest signature (12 bytes). */
const SNIFFED_CHARS = 16

/** A longer header is not a media type. */
const MAX_HEADER = 1024

const IMAGE_TYPES = new Map([
  ['png', 'image/png'],
  ['jpeg', 'image/jpeg'],
  ['jpg', 'image/jpeg'],
  ['webp', 'image/webp'],
  ['gif', 'image/gif'],
  ['svg', 'image/svg+xml'],
])

/**
 * Reads `data:[<media type>][;<parameter>…][;base64],<data>`. Base64 may lack its padding, use the URL alphabet, be
 * percent-encoded or broken over lines; the result is standard base64, padded. Data that is not base64 is returned as
 * text if its type is text. Drops parameters such as a charset. Undefined for any other URL.
 */
export function parseDataUrl(url: string): Media | undefined {
  if (!/^data:/i.test(url)) return undefined
  const comma = url.indexOf(',')
  if (comma < 0 || comma > MAX_HEADER) return undefined
  const [type = '', ...parameters] = url
    .slice(5, comma)
    .split(';')
    .map((item) => item.trim().toLowerCase())
  const mediaType = type === '' ? 'text/plain' : type
  if (!mediaType.includes('/')) return undefined
  const data = url.slice(comma + 1)
  if (parameters.at(-1) === 'base64') {
    const base64 = plainBase64(data)
    return base64 === undefined ? undefined : { kind: 'data', mediaType, base64 }
  }
  const text = percentDecoded(data)
  if (text === undefined) return undefined
  if (mediaType.startsWith('text/')) return { kind: 'text', mediaType, text }
  return { kind: 'data', mediaType, base64: Buffer.from(text).toString('base64') }
}

/** Bytes or text as a `data:` URL in base64, the form that every API reads. */
export function dataUrl(media: Extract<Media, { kind: 'data' | 'text' }>): string {
  const base64 = media.kind === 'data' ? media.base64 : Buffer.from(media.text).toString('base64')
  return `data:${media.mediaType};base64,${base64}`
}

/** The type according to the first bytes, if it is one that models read; else undefined. */
export function sniffMediaType(base64: string): string | undefined {
  const bytes = Buffer.from(base64.slice(0, SNIFFED_CHARS), 'base64').toString('latin1')
  if (bytes.startsWith('\xff\xd8\xff')) return 'image/jpeg'
  if (bytes.startsWith('\x89PNG\r\n\x1a\n')) return 'image/png'
  if (bytes.startsWith('GIF87a') || bytes.startsWith('GIF89a')) return 'image/gif'
  if (bytes.startsWith('RIFF') && bytes.startsWith('WEBP', 8)) return 'image/webp'
  if (bytes.startsWith('%PDF-')) return 'application/pdf'
  return undefined
}

/** The type of an image: according to its bytes, else to the format that the upstream names. */
export function imageType(base64: string, format: string | undefined): string {
  const named = format === undefined ? undefined : IMAGE_TYPES.get(format.toLowerCase())
  return sniffMediaType(base64) ?? named ?? 'image/png'
}

/**
 * An image in the text of an answer; undefined for a file that only one vendor has, and for a client that requested
 * JSON, which an image would make invalid.
 */
export function markdownImage(source: Media, { format }: Pick<ModelRequest, 'format'>): string | undefined {
  if (source.kind === 'id' || format !== undefined) return undefined
  const url = source.kind === 'url' ? source.url.replace(/[\s()<>[\]\\]/g, encoded) : dataUrl(source)
  return `![image](${url})`
}

function encoded(character: string): string {
  return `%${character.charCodeAt(0).toString(16).toUpperCase().padStart(2, '0')}`
}

/** Standard base64 with its padding; undefined when `data` is not base64. */
function plainBase64(data: string): string | undefined {
  let text = data.includes('%') ? percentDecoded(data) : data
  if (text === undefined) return undefined
  if (/[\s_-]/.test(text)) text = text.replace(/\s+/g, '').replaceAll('-', '+').replaceAll('_', '/')
  const bare = text.slice(0, text.endsWith('==') ? -2 : text.endsWith('=') ? -1 : undefined)
  if (/[^A-Za-z0-9+/]/.test(bare) || bare.length % 4 === 1) return undefined
  return bare.padEnd(Math.ceil(bare.length / 4) * 4, '=')
}

function percentDecoded(text: string): string | undefined {
  try {
    return decodeURIComponent(text)
  } catch {
    return undefined
  }
}
