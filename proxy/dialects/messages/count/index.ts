/** Counts the tokens of a messages request: https://docs.anthropic.com/en/api/messages-count-tokens */
import type { ClientApi } from '../../core/dialect.ts'
import { type ModelSpan, splice } from '../../core/json/model-splice.ts'
import { upstreamHeaders } from '../byte-lane/headers.ts'
import { messages } from '../index.ts'
import type * as wire from '../wire.ts'
import { readAnswer } from './answer.ts'
import { parseRequest } from './request.ts'

export const countTokens: ClientApi<ModelSpan> = {
  name: 'messages',
  upstreamPath: () => '/messages/count_tokens',
  parseRequest,
  byteLane: {
    splice,
    upstreamHeaders,
    readAnswer,
    observe() {
      throw new Error('token counts are never streamed')
    },
  },
  estimate: (_request, inputTokens): wire.TokenCount => ({ input_tokens: inputTokens }),
  lossNames: messages.lossNames,
  errorBody: messages.errorBody,
  rateLimitHeaders: messages.rateLimitHeaders,
  errorEvent: messages.errorEvent,
  keepAlive: messages.keepAlive,
}
