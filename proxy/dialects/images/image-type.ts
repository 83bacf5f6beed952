/** The types of images that can be edited, read from their bytes, because labels may be wrong. */

import { refusal } from '../core/json/fields.ts'
import { sniffMediaType } from '../core/neutral/media.ts'

/** Limit of the images API. */
export const MAX_IMAGES = 16
/** Of an image in JSON. */
export const MAX_IMAGE_BYTES = 50 * 1024 * 1024
const TYPES: Partial<Record<string, string>> = {
  'image/png': 'png',
  'image/jpeg': 'jpg',
  'image/webp': 'webp',
}
/** Bytes that sniffing needs. */
export const SNIFFED_BYTES = 12

interface ImageType {
  mediaType: string
  /** For file names, without the dot. */
  extension: string
}

/** Undefined if the bytes are not an image that can be edited. */
export function typeOf(base64: string): ImageType | undefined {
  const mediaType = sniffMediaType(base64)
  const extension = mediaType === undefined ? undefined : TYPES[mediaType]
  return mediaType === undefined || extension === undefined ? undefined : { mediaType, extension }
}

export function typeOfBytes(bytes: Buffer): ImageType | undefined {
  return typeOf(bytes.toString('base64', 0, SNIFFED_BYTES))
}

/** Throws GatewayError naming `field`. */
export function checkImage(field: string, type: ImageType | undefined): void {
  if (type === undefined) throw refusal(field, 'must be a PNG, JPEG or WebP image')
}
