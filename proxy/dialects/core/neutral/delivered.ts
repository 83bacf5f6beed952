import type { Delivered, ImageKind } from '../../../../contract/sizes.ts'
import { textWeight } from '../../../../contract/text.ts'
import type { Usage } from '../../../../contract/usage.ts'
import { present } from '../../../../kit/present.ts'
import type { ImagePart } from './types.ts'

/** Counts one delta of the model's text. Ignores other values and empty text. */
export function addText(delivered: Delivered, text: unknown): void {
  if (typeof text !== 'string' || text === '') return
  delivered.deltas++
  delivered.bytes += textWeight(text)
}

/** Counts an image of an answer. */
export function addImage(delivered: Delivered, { made }: ImagePart): void {
  delivered.images = (delivered.images ?? 0) + 1
  Object.assign(delivered, present({ imageKind: imageKindOf(made) }))
}

/** How an image was made, or is to be made; undefined where that is left to the upstream. */
export function imageKindOf(value: { size?: unknown; quality?: unknown } | undefined): ImageKind | undefined {
  const named = (of: unknown) => (typeof of === 'string' && of !== '' && of !== 'auto' ? of : undefined)
  const kind = present({ size: named(value?.size), quality: named(value?.quality) })
  return Object.keys(kind).length === 0 ? undefined : kind
}

/** The usage with the number of images in the answer, which upstreams do not report. The same object without images. */
export function withImages(usage: Usage, images: number): Usage {
  return images > usage.images ? { ...usage, images } : usage
}
