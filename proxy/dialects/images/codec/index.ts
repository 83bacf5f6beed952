/** Converts between the images API and the neutral form. Its two endpoints differ only in the names of their events. */
import type { Codec } from '../../core/codec.ts'
import type { EventFamily } from '../events.ts'
import type { ImagesOwn } from '../own.ts'
import { decodeAnswer } from './answer/decode-answer.ts'
import { ImagesDecoder } from './answer/decode-stream.ts'
import { encodeAnswer, missingContent } from './answer/encode-answer.ts'
import { ImagesStreamEncoder } from './answer/encode-stream.ts'
import { decodeRequest } from './request/decode-request.ts'
import { encodeRequest } from './request/encode-request.ts'

export function imagesCodec(events: EventFamily): Codec<ImagesOwn> {
  return {
    eventName: /^image_/,
    decodeRequest,
    encodeRequest,
    decodeAnswer,
    decodeStream: (emit, request) => new ImagesDecoder(emit, request),
    missingContent,
    encodeAnswer,
    encodeStream: (client) => new ImagesStreamEncoder(client, events),
  }
}
