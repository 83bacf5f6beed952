import type { Codec } from '../../dialect.ts'
import { decodeAnswer } from './decode-answer.ts'
import { decodeRequest } from './decode-request.ts'
import { decodeStream } from './decode-stream.ts'
import { encodeAnswer } from './encode-answer.ts'
import { encodeRequest } from './encode-request.ts'
import { encodeStream } from './encode-stream.ts'
import { refuseStateful } from './stateful.ts'

/** The messages dialect to and from the neutral form. */
export const messagesCodec: Codec = {
  decodeRequest,
  refuseStateful,
  encodeRequest,
  decodeAnswer,
  encodeAnswer,
  decodeStream,
  encodeStream,
}
