import type { Codec } from '../../core/codec.ts'
import { decodeAnswer } from './answer/decode-answer.ts'
import { MessagesStreamDecoder } from './answer/decode-stream.ts'
import { encodeAnswer } from './answer/encode-answer.ts'
import { MessagesStreamEncoder } from './answer/encode-stream.ts'
import { parseAnswer } from './long-inputs.ts'
import { decodeRequest } from './request/decode-request.ts'
import { encodeRequest } from './request/encode-request.ts'
import { refuseStateful } from './request/stateful.ts'

export const messagesCodec: Codec = {
  eventName: /^(?:message|content_block)_/,
  decodeRequest,
  refuseStateful,
  encodeRequest,
  parseAnswer,
  decodeAnswer,
  encodeAnswer,
  decodeStream: (emit, request) => new MessagesStreamDecoder(emit, request),
  encodeStream: (client) => new MessagesStreamEncoder(client),
}
