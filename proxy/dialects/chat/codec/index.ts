import type { Codec } from '../../core/codec.ts'
import { decodeAnswer } from './answer/decode-answer.ts'
import { ChatStreamDecoder } from './answer/decode-stream.ts'
import { encodeAnswer } from './answer/encode-answer.ts'
import { ChatStreamEncoder } from './answer/encode-stream.ts'
import { decodeRequest } from './request/decode-request.ts'
import { encodeRequest } from './request/encode-request.ts'

export const codec: Codec = {
  decodeRequest,
  encodeRequest,
  decodeAnswer,
  encodeAnswer,
  decodeStream: (emit, request, features) => new ChatStreamDecoder(emit, request, features),
  encodeStream: (client) => new ChatStreamEncoder(client),
}
