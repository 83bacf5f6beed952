/** Pieces of answers that whole ones and streams have in common. */

import { contentList, contentText } from '../../../core/errors/unreadable.ts'
import { type Fields, isRecord } from '../../../core/json/value.ts'
import { dataUrl, parseDataUrl } from '../../../core/neutral/media.ts'
import type { Carrier, ImagePart } from '../../../core/neutral/types.ts'
import { isOpaque } from '../reasoning.ts'

/** The readable pieces of a content that is a list, as some upstreams write it. */
export interface ContentPiece {
  type: 'text' | 'reasoning'
  text: string
}

/** Content as text and thoughts in their order; null is nothing. Throws as errors/unreadable.ts says. */
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

/** Images that a model made (`images`, as some upstreams write them). */
export function readImages(value: unknown): ImagePart[] {
  if (!Array.isArray(value)) return []
  return value.filter(isRecord).flatMap((item): ImagePart[] => {
    const url = isRecord(item.image_url) ? item.image_url.url : undefined
    if (typeof url !== 'string') return []
    return [{ type: 'image', source: parseDataUrl(url) ?? { kind: 'url', url } }]
  })
}

export function writeImage({ source }: ImagePart): Fields | undefined {
  if (source.kind === 'id') return undefined
  return { type: 'image_url', image_url: { url: source.kind === 'url' ? source.url : dataUrl(source) } }
}

/** What the upstream wants back of its thoughts; nothing when they are plain text. */
export function detailsCarrier(entries: Fields[]): Carrier | undefined {
  if (!entries.some(isOpaque)) return undefined
  return { dialect: 'chat', kind: 'details', value: JSON.stringify(entries) }
}
