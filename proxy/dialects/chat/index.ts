/** The chat completions dialect: https://platform.openai.com/docs/api-reference/chat */
import type { Dialect } from '../dialect.ts'
import { readAnswer } from './byte-lane/answer.ts'
import { errorBody, errorEvent, readError } from '../errors/read.ts'
import { parseRequest, splice } from './request.ts'
import { ChatStreamObserver } from './byte-lane/stream.ts'

export const chat: Dialect = {
  name: 'chat',
  upstreamPath: '/chat/completions',
  parseRequest,
  splice,
  readAnswer,
  observe: (request, maxEventBytes, askedUsage = true) =>
    new ChatStreamObserver(request, maxEventBytes, askedUsage),
  readError,
  errorBody,
  errorEvent,
  keepAlive: Buffer.from(': keep-alive\n\n'),
}
