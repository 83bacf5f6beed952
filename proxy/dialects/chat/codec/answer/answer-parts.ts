/** Parts of answers that whole answers and streams share. */

import { contentList, contentText } from '../../../core/errors/unreadable.ts'
import { type Fields, isRecord } from '../../../core/json/value.ts'
import { dataUrl, parseDataUrl } from '../../../core/neutral/media.ts'
import type { Carrier, ImagePart } from '../../../core/neutral/types.ts'
import type * as wire from '../../wire.ts'
import { isOpaque } from '../reasoning.ts'

/** A readable part of content, which some upstreams write as a list. */
interface ContentPiece {
  type: 'text' | 'reasoning'
  text: string
}

/** Content as text and thoughts in order; empty for null. Throws for unreadable content, see errors/unreadable.ts. */
export function readPieces(content: unknown): ContentPiece[] {
  if (typeof content === 'string') return content === '' ? [] : [{ type: 'text', text: content }]
  return contentList(content)
    .filter(isRecord)
    .flatMap((part): ContentPiece[] => {
      if (part.type === 'thinking') {
        return readPieces(part.thinking).map(({ text }) => ({ type: 'reasoning', text }))
      }
      const text = contentText(part.text)
      return text === '' ? [] : [{ type: 'text', text }]
    })
}

/** Images that a model made, in the field `images` of some upstreams. */
export function readImages(value: unknown): ImagePart[] {
  if (!Array.isArray(value)) return []
  return value.filter(isRecord).flatMap((item): ImagePart[] => {
    const url = isRecord(item.image_url) ? item.image_url.url : undefined
    if (typeof url !== 'string') return []
    return [{ type: 'image', source: parseDataUrl(url) ?? { kind: 'url', url } }]
  })
}

export function writeImage({ source }: ImagePart, index?: number): wire.Image | undefined {
  if (source.kind === 'id') return undefined
  const url = source.kind === 'url' ? source.url : dataUrl(source)
  return { index, type: 'image_url', image_url: { url } }
}

/** The state that the upstream requires back with its thoughts; undefined when they are plain text. */
export function detailsCarrier(entries: Fields[]): Carrier | undefined {
  if (!entries.some(isOpaque)) return undefined
  return { dialect: 'chat', kind: 'details', value: JSON.stringify(entries) }
}
