/** Reads whole answers of the images API. */

import { present } from '../../../../kit/present.ts'
import type { UpstreamFailure } from '../../../errors.ts'
import type { Answer } from '../../core/byte-lane.ts'
import { errorInAnswer } from '../../core/errors/read.ts'
import { badAnswer } from '../../core/errors/unreadable.ts'
import { type Fields, isRecord, isText, tryParse } from '../../core/json/value.ts'
import type { FieldsOf } from '../../core/json/wire.ts'
import { imageKindOf } from '../../core/neutral/delivered.ts'
import type { ParsedRequest } from '../../core/request.ts'
import { type EventFamily, eventText } from '../events.ts'
import { readUsage } from '../usage.ts'
import type * as wire from '../wire.ts'

/** Fields of an answer that the event of each image repeats. */
export const SHARED: (keyof wire.Making)[] = ['size', 'quality', 'background', 'output_format']

/** `events`: the event family of the stream that the client requested; undefined without a stream. */
export function readAnswer(
  body: Buffer,
  request: ParsedRequest,
  events: EventFamily | undefined,
): Answer | UpstreamFailure {
  const value = tryParse(body.toString('utf8'))
  if (isRecord(value) && value.error) return errorInAnswer(value, request)
  const images = imagesOf(value)
  if (!isRecord(value) || images.length === 0) return badAnswer('no_answer')
  return {
    body: events === undefined ? body : Buffer.from(toStream(value, images, events)),
    ...present({ usage: readUsage(value.usage, images.length) }),
    delivered: {
      deltas: 0,
      bytes: 0,
      images: images.length,
      ...present({ imageKind: imageKindOf(value) }),
    },
  }
}

/** The entries of an answer that have an image. */
export function imagesOf(value: unknown): Fields[] {
  if (!isRecord(value) || !Array.isArray(value.data)) return []
  return value.data.filter(isRecord).filter(({ b64_json, url }) => isText(b64_json) || isText(url))
}

/** An event for each image; the last one has the usage of all images. */
function toStream(answer: Fields, images: readonly Fields[], events: EventFamily): string {
  const shared: FieldsOf<wire.Event> = {}
  if (typeof answer.created === 'number') shared.created_at = answer.created
  for (const field of SHARED) if (typeof answer[field] === 'string') shared[field] = answer[field]
  return images
    .map(({ b64_json, url }, i) => {
      const event: FieldsOf<wire.Event> = isText(b64_json) ? { b64_json } : { url }
      Object.assign(event, shared)
      if (i === images.length - 1 && isRecord(answer.usage)) event.usage = answer.usage
      return eventText(`${events}.completed`, event)
    })
    .join('')
}
