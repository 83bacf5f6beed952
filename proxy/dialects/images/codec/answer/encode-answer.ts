/** Writes a whole answer for a client who asked for pictures. */
import type { UpstreamFailure } from '../../../../errors.ts'
import type { ClientView } from '../../../core/dialect.ts'
import type { ImagePart, ModelAnswer } from '../../../core/neutral/types.ts'
import { writeUsage } from '../../usage.ts'
import { noPicture, writeMaking, writeSource } from './picture.ts'

/** An answer without a picture is none. */
export function missingContent({ parts, finish }: ModelAnswer): UpstreamFailure | undefined {
  if (parts.some(isPicture)) return undefined
  const refused = finish.reason === 'content-filter' || parts.some((part) => part.type === 'refusal')
  return noPicture(refused)
}

export function encodeAnswer({ parts, usage }: ModelAnswer, { created, parsed }: ClientView): object {
  const pictures = parts.filter(isPicture)
  return {
    created,
    ...writeMaking(pictures[0]?.made ?? {}),
    data: pictures.map(({ source, made }) => ({
      ...writeSource(source),
      ...(made?.revisedPrompt !== undefined && { revised_prompt: made.revisedPrompt }),
    })),
    ...(usage && { usage: writeUsage(usage, parsed.head.input.images === 0) }),
  }
}

function isPicture(part: ModelAnswer['parts'][number]): part is ImagePart {
  return part.type === 'image' && part.source.kind !== 'id'
}
