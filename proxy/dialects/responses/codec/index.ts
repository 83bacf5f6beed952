/** Both directions between the responses dialect and the neutral form. */
import type { Codec } from '../../core/codec.ts'
import { emulate } from '../compact/emulated.ts'
import type { ResponsesOwn } from '../request.ts'
import { echoOf } from './answer/answer-echo.ts'
import { decodeAnswer } from './answer/decode-answer.ts'
import { ResponsesDecoder } from './answer/decode-stream.ts'
import { encodeAnswer } from './answer/encode-answer.ts'
import { ResponsesEncoder } from './answer/encode-stream.ts'
import { decodeRequest } from './request/decode-request.ts'
import { encodeRequest } from './request/encode-request.ts'
import { refuseStateful } from './request/stateful.ts'

export const responsesCodec: Codec<ResponsesOwn> = {
  eventName: /^response\./,
  decodeRequest,
  echo: echoOf,
  refuseStateful,
  emulate,
  encodeRequest,
  decodeAnswer,
  encodeAnswer,
  decodeStream: (emit, request) => new ResponsesDecoder(emit, request),
  encodeStream: (client) => new ResponsesEncoder(client),
}
