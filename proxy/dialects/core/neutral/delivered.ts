import type { Delivered } from '../../../../contract/sizes.ts'
import { textWeight } from '../../../../contract/text.ts'
import type { Usage } from '../../../../contract/usage.ts'

/** Counts one delta of the model's text. Ignores other values and empty text. */
export function addText(delivered: Delivered, text: unknown): void {
  if (typeof text !== 'string' || text === '') return
  delivered.deltas++
  delivered.bytes += textWeight(text)
}

/** The usage with the number of images in the answer, which upstreams do not report. The same object without images. */
export function withImages(usage: Usage, images: number): Usage {
  return images > usage.images ? { ...usage, images } : usage
}
