/** The responses dialect: https://platform.openai.com/docs/api-reference/responses */
import type { Dialect } from '../core/dialect.ts'
import { splice } from '../core/json/model-splice.ts'
import { openaiErrorBody } from '../openai/error.ts'
import { openaiWordings } from '../openai/error-wordings.ts'
import { openaiRateLimits } from '../openai/rate-limits.ts'
import { openaiTools } from '../openai/tools.ts'
import { readAnswer } from './byte-lane/answer.ts'
import { fromStream } from './byte-lane/from-stream.ts'
import { openState } from './byte-lane/state.ts'
import { ResponsesStreamObserver } from './byte-lane/stream.ts'
import { createChains } from './chains/index.ts'
import { responsesCodec } from './codec/index.ts'
import { CompactionObserver } from './compact/native.ts'
import { emulate } from './compact/native-request.ts'
import { errorEvent } from './error.ts'
import { responsesWordings } from './error-wordings.ts'
import { lossNames } from './loss-names.ts'
import { parseRequest, type ResponsesOwn } from './request.ts'

export const responses: Dialect<ResponsesOwn> = {
  name: 'responses',
  upstreamPath: () => '/responses',
  parseRequest,
  byteLane: {
    splice,
    upstreamHeaders: () => ({}),
    limitField: () => 'max_output_tokens',
    openState,
    emulate,
    modelAt: { answer: ['model'], event: ['response', 'model'] },
    readAnswer,
    fromStream,
    observe(request, maxEventBytes) {
      const observer = new ResponsesStreamObserver(request, maxEventBytes)
      return request.compacts === true ? new CompactionObserver(observer) : observer
    },
  },
  codec: responsesCodec,
  wordings: [openaiWordings, responsesWordings],
  carriers: ['encrypted', 'compaction'],
  conversation: { tools: openaiTools({ namespaces: true }), stopSequences: false },
  chains: createChains(parseRequest),
  lossNames,
  errorBody: openaiErrorBody,
  rateLimitHeaders: openaiRateLimits,
  errorEvent: (error) => errorEvent(error),
  keepAlive: Buffer.from(': keep-alive\n\n'),
}
