/** The images API: https://platform.openai.com/docs/api-reference/images */
import type { ByteLane } from '../core/byte-lane.ts'
import type { Dialect } from '../core/dialect.ts'
import { openaiErrorBody } from '../openai/error.ts'
import { openaiWordings } from '../openai/error-wordings.ts'
import { openaiRateLimits } from '../openai/rate-limits.ts'
import { readAnswer } from './byte-lane/answer.ts'
import { fromStream } from './byte-lane/from-stream.ts'
import { ImagesStreamObserver } from './byte-lane/stream.ts'
import { imagesCodec } from './codec/index.ts'
import { type EventFamily, errorText } from './events.ts'
import { MULTIPART } from './form/boundary.ts'
import { lossNames } from './loss-names.ts'
import type { ImagesOwn } from './own.ts'
import { parseEdit, parseGeneration, parseUpload, spliceRequest } from './request.ts'

/** `/images/generations`. The hub converts other dialects to this endpoint. */
export const images: Dialect<ImagesOwn> = {
  name: 'images',
  upstreamPath: () => '/images/generations',
  parseRequest: parseGeneration,
  byteLane: byteLane('image_generation'),
  codec: imagesCodec('image_generation'),
  wordings: [openaiWordings],
  carriers: [],
  lossNames,
  errorBody: openaiErrorBody,
  rateLimitHeaders: openaiRateLimits,
  errorEvent: (error) => Buffer.from(errorText(error)),
  keepAlive: Buffer.from(': keep-alive\n\n'),
}

/** `/images/edits`: the request contains images, as files of a form or as URLs. */
export const imageEdits: Dialect<ImagesOwn> = {
  ...images,
  upstreamPath: () => '/images/edits',
  parseRequest: parseEdit,
  forms: [MULTIPART],
  parseUpload,
  byteLane: byteLane('image_edit'),
  codec: imagesCodec('image_edit'),
}

function byteLane(events: EventFamily): ByteLane<ImagesOwn> {
  return {
    splice: spliceRequest,
    upstreamHeaders: () => ({}),
    readAnswer: (body, request, asStream) => readAnswer(body, request, asStream ? events : undefined),
    fromStream,
    observe: (request, maxEventBytes) => new ImagesStreamObserver(request, maxEventBytes),
  }
}
