import type { Delivered } from '../../../../contract/sizes.ts'
import type { Usage } from '../../../../contract/usage.ts'

/** Counts one piece of what the model wrote; what is no text, or empty, is none. */
export function addText(delivered: Delivered, text: unknown): void {
  if (typeof text !== 'string' || text === '') return
  delivered.deltas++
  delivered.bytes += Buffer.byteLength(text)
}

/** The usage of an answer that has so many pictures: upstreams report tokens alone. The same object when it has none. */
export function withPictures(usage: Usage, images: number): Usage {
  return images > usage.images ? { ...usage, images } : usage
}
