import type { Delivered } from '../../../contract/sizes.ts'

/** Counts one piece of what the model wrote; what is no text, or empty, is none. */
export function addText(delivered: Delivered, text: unknown): void {
  if (typeof text !== 'string' || text === '') return
  delivered.deltas++
  delivered.bytes += Buffer.byteLength(text)
}
