/** Chat to the neutral form and back. */
import type { Codec } from '../../dialect.ts'
import { decodeAnswer } from './decode-answer.ts'
import { decodeRequest } from './decode-request.ts'
import { ChatStreamDecoder } from './decode-stream.ts'
import { encodeAnswer } from './encode-answer.ts'
import { encodeRequest } from './encode-request.ts'
import { ChatStreamEncoder } from './encode-stream.ts'

export const codec: Codec = {
  decodeRequest,
  encodeRequest,
  decodeAnswer,
  encodeAnswer,
  decodeStream: (emit, request) => new ChatStreamDecoder(emit, request),
  encodeStream: (client) => new ChatStreamEncoder(client),
}
