/** The endpoint that compacts a conversation: https://platform.openai.com/docs/api-reference/responses/compact */
import type { ClientApi } from '../../core/dialect.ts'
import { splice } from '../../core/json/model-splice.ts'
import { openState } from '../byte-lane/state.ts'
import { createChains } from '../chains/index.ts'
import { decodeCompaction } from '../codec/request/decode-request.ts'
import { refuseStateful } from '../codec/request/stateful.ts'
import { responses } from '../index.ts'
import { encodeAnswer, readAnswer } from './answer.ts'
import { emulate } from './emulated.ts'
import { emulate as emulateNatively } from './native-request.ts'
import { parseRequest } from './request.ts'

const { name, lossNames, errorBody, errorEvent, keepAlive } = responses

export const compact: ClientApi = {
  name,
  upstreamPath: () => '/responses/compact',
  parseRequest,
  byteLane: {
    splice,
    openState,
    emulate: emulateNatively,
    upstreamHeaders: () => ({}),
    readAnswer,
    observe: neverStreamed,
  },
  codec: {
    decodeRequest: decodeCompaction,
    refuseStateful,
    emulate,
    encodeAnswer,
    encodeStream: neverStreamed,
  },
  // It can go on from an answer; nobody goes on from it by its id, but from its output.
  chains: {
    ...createChains(parseRequest),
    tap: () => ({ push() {}, whole() {}, record: () => undefined }),
  },
  lossNames,
  errorBody,
  errorEvent,
  keepAlive,
}

/** parseRequest takes no request for a stream. */
function neverStreamed(): never {
  throw new TypeError('a compaction is not streamed')
}
