/** The embeddings API: https://platform.openai.com/docs/api-reference/embeddings */
import type { ClientApi } from '../core/dialect.ts'
import { splice } from '../core/json/model-splice.ts'
import { openaiErrorBody } from '../openai/error.ts'
import { openaiRateLimits } from '../openai/rate-limits.ts'
import { readAnswer } from './answer.ts'
import { type EmbeddingsOwn, parseRequest } from './request.ts'

export const embeddings: ClientApi<EmbeddingsOwn> = {
  name: 'embeddings',
  upstreamPath: () => '/embeddings',
  parseRequest,
  byteLane: {
    splice,
    upstreamHeaders: () => ({}),
    readAnswer,
    observe() {
      throw new Error('embeddings are never streamed')
    },
  },
  lossNames: {},
  errorBody: openaiErrorBody,
  rateLimitHeaders: openaiRateLimits,
  errorEvent: (error) => Buffer.from(`data: ${JSON.stringify(openaiErrorBody(error))}\n\n`),
  keepAlive: Buffer.from(': keep-alive\n\n'),
}
