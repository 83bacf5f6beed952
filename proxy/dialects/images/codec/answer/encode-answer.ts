/** Writes a whole answer for a client of the images API. */
import type { UpstreamFailure } from '../../../../errors.ts'
import type { ClientView } from '../../../core/codec.ts'
import type { ImagePart, ModelAnswer } from '../../../core/neutral/types.ts'
import { writeUsage } from '../../usage.ts'
import type * as wire from '../../wire.ts'
import { noImage, writeSource } from './image-fields.ts'

/** The failure for an answer without an image; undefined if it has one. */
export function missingContent({ parts, finish }: ModelAnswer): UpstreamFailure | undefined {
  if (parts.some(isImage)) return undefined
  const refused = finish.reason === 'content-filter' || parts.some((part) => part.type === 'refusal')
  return noImage(refused)
}

export function encodeAnswer({ parts, usage }: ModelAnswer, { created, parsed }: ClientView): wire.Answer {
  const images = parts.filter(isImage)
  const { background, format, quality, size } = images[0]?.made ?? {}
  return {
    created,
    background,
    output_format: format,
    quality,
    size,
    data: images.map(({ source, made }) => writeSource(source, made?.revisedPrompt)),
    usage: usage && writeUsage(usage, parsed.head.input.images === 0),
  }
}

function isImage(part: ModelAnswer['parts'][number]): part is ImagePart {
  return part.type === 'image' && part.source.kind !== 'id'
}
