/** Pictures that are to be edited: their bytes say what they are, whatever their label says. */

import { refusal } from '../core/json/fields.ts'
import { sniffMediaType } from '../core/neutral/media.ts'

/** As the images API takes them. */
export const MAX_PICTURES = 16
/** Of one that stands in JSON. */
export const MAX_PICTURE_BYTES = 50 * 1024 * 1024
const TYPES: Partial<Record<string, string>> = {
  'image/png': 'png',
  'image/jpeg': 'jpg',
  'image/webp': 'webp',
}
/** Enough for every beginning that is looked for. */
export const SNIFFED_BYTES = 12

export interface PictureType {
  mediaType: string
  /** Of a file's name. */
  extension: string
}

/** The type of a picture that can be edited; undefined for any other bytes. */
export function typeOf(base64: string): PictureType | undefined {
  const mediaType = sniffMediaType(base64)
  const extension = mediaType === undefined ? undefined : TYPES[mediaType]
  return mediaType === undefined || extension === undefined ? undefined : { mediaType, extension }
}

export function typeOfBytes(bytes: Buffer): PictureType | undefined {
  return typeOf(bytes.toString('base64', 0, SNIFFED_BYTES))
}

/** Throws GatewayError naming `field`. */
export function checkPicture(field: string, type: PictureType | undefined): void {
  if (type === undefined) throw refusal(field, 'must be a PNG, JPEG or WebP picture')
}
