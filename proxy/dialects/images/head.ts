/** The fields of a request for images that the gateway reads, from JSON or a form. */

import { textWeight } from '../../../contract/text.ts'
import { present } from '../../../kit/present.ts'
import { isBoolean, readModel, readOptional, refusal } from '../core/json/fields.ts'
import type { Fields } from '../core/json/value.ts'
import { imageKindOf } from '../core/neutral/delivered.ts'
import type { RequestHead } from '../core/request.ts'

/** Fields that the gateway uses. */
export const READ_FIELDS = ['model', 'prompt', 'n', 'size', 'quality', 'stream', 'partial_images'] as const

export const MAX_COUNT = 10
export const MAX_PARTIALS = 3
export const SIZE = /^(?:auto|[1-9]\d{0,4}x[1-9]\d{0,4})$/

/** `inputImages`: the number of images in the request. Throws GatewayError naming the field. */
export function readHead(value: Fields, inputImages: number): RequestHead {
  const model = readModel(value.model)
  const { prompt } = value
  if (typeof prompt !== 'string' || prompt === '') throw refusal('prompt', 'must be a non-empty string')
  const images = readOptional(value, 'n', isCount, `an integer from 1 to ${MAX_COUNT}`) ?? 1
  readOptional(value, 'size', isSize, 'auto or <width>x<height>')
  const stream = readOptional(value, 'stream', isBoolean, 'true or false') ?? false
  readOptional(value, 'partial_images', isPartials, `an integer from 0 to ${MAX_PARTIALS}`)
  return {
    model,
    stream,
    images,
    ...present({ imageKind: imageKindOf(value) }),
    choices: 1,
    wantsStreamUsage: false,
    input: {
      textBytes: textWeight(prompt),
      images: inputImages,
      audioBytes: 0,
      fileBytes: 0,
      tools: 0,
    },
  }
}

function isCount(value: unknown): value is number {
  return Number.isInteger(value) && Number(value) >= 1 && Number(value) <= MAX_COUNT
}

function isPartials(value: unknown): value is number {
  return Number.isInteger(value) && Number(value) >= 0 && Number(value) <= MAX_PARTIALS
}

function isSize(value: unknown): value is string {
  return typeof value === 'string' && SIZE.test(value)
}
