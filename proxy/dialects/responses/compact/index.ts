/** The endpoint that compacts conversations: https://platform.openai.com/docs/api-reference/responses/compact */
import type { ClientApi } from '../../core/dialect.ts'
import { splice } from '../../core/json/model-splice.ts'
import { openState } from '../byte-lane/state.ts'
import { createChains } from '../chains/index.ts'
import { decodeRequest } from '../codec/request/decode-request.ts'
import { refuseStateful } from '../codec/request/stateful.ts'
import { responses } from '../index.ts'
import type { ResponsesOwn } from '../request.ts'
import { encodeAnswer, readAnswer } from './answer.ts'
import { emulate } from './emulated.ts'
import { emulate as emulateNatively } from './native-request.ts'
import { parseRequest } from './request.ts'

const { name, lossNames, errorBody, errorEvent, rateLimitHeaders, keepAlive } = responses

export const compact: ClientApi<ResponsesOwn> = {
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
    decodeRequest,
    refuseStateful,
    emulate,
    encodeAnswer,
    encodeStream: neverStreamed,
  },
  // A compaction can continue an answer. No request continues a compaction by its id; clients send its output.
  chains: {
    ...createChains(parseRequest),
    tap: () => ({ push() {}, whole() {}, record: () => undefined }),
  },
  lossNames,
  errorBody,
  rateLimitHeaders,
  errorEvent,
  keepAlive,
}

/** parseRequest refuses requests for a stream. */
function neverStreamed(): never {
  throw new TypeError('a compaction is not streamed')
}
