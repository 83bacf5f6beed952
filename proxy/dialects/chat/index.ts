/** The chat completions dialect: https://platform.openai.com/docs/api-reference/chat */
import type { Dialect } from '../core/dialect.ts'
import { openaiErrorBody } from '../openai/error.ts'
import { openaiWordings } from '../openai/error-wordings.ts'
import { openaiRateLimits } from '../openai/rate-limits.ts'
import { openaiTools } from '../openai/tools.ts'
import { readAnswer } from './byte-lane/answer.ts'
import { fromStream } from './byte-lane/from-stream.ts'
import { type SplicePoints, splice } from './byte-lane/splice.ts'
import { openState } from './byte-lane/state.ts'
import { ChatStreamObserver } from './byte-lane/stream.ts'
import { carryBesideCalls, restoreToCalls } from './call-state.ts'
import { codec } from './codec/index.ts'
import { errorEvent } from './error.ts'
import { lossNames } from './loss-names.ts'
import { parseRequest } from './request.ts'

export const chat: Dialect<SplicePoints> = {
  name: 'chat',
  upstreamPath: () => '/chat/completions',
  parseRequest,
  byteLane: {
    splice,
    upstreamHeaders: () => ({}),
    limitField: ({ maxCompletionTokens }) => (maxCompletionTokens ? 'max_completion_tokens' : 'max_tokens'),
    openState,
    modelAt: { answer: ['model'], event: ['model'] },
    readAnswer,
    fromStream,
    observe: (request, maxEventBytes, addedUsage, finishReason = true) =>
      new ChatStreamObserver(request, maxEventBytes, { addedUsage, finishReason }),
  },
  codec,
  wordings: [openaiWordings],
  carriers: ['details', 'extra_content'],
  conversation: {
    tools: openaiTools({ namespaces: false }),
    stopSequences: true,
    adaptRequest: restoreToCalls,
    adaptAnswer: carryBesideCalls,
  },
  lossNames,
  errorBody: openaiErrorBody,
  rateLimitHeaders: openaiRateLimits,
  errorEvent,
  keepAlive: Buffer.from(': keep-alive\n\n'),
}
