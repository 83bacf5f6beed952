/** The messages dialect: https://docs.anthropic.com/en/api/messages */
import type { Dialect } from '../core/dialect.ts'
import { type ModelSpan, splice } from '../core/json/model-splice.ts'
import { readAnswer } from './byte-lane/answer.ts'
import { fromStream } from './byte-lane/from-stream.ts'
import { upstreamHeaders } from './byte-lane/headers.ts'
import { openState } from './byte-lane/state.ts'
import { MessagesStreamObserver } from './byte-lane/stream.ts'
import { messagesCodec } from './codec/index.ts'
import { errorBody, errorEvent } from './error.ts'
import { messagesWordings } from './error-wordings.ts'
import { lossNames } from './loss-names.ts'
import { rateLimitHeaders } from './rate-limits.ts'
import { parseRequest } from './request.ts'
import { versionHeaders } from './version.ts'

export const messages: Dialect<ModelSpan> = {
  name: 'messages',
  upstreamPath: () => '/messages',
  parseRequest,
  byteLane: {
    splice,
    upstreamHeaders,
    openState,
    modelAt: { answer: ['model'], event: ['message', 'model'] },
    readAnswer,
    fromStream,
    observe: (request, maxEventBytes) => new MessagesStreamObserver(request, maxEventBytes),
  },
  codec: messagesCodec,
  wordings: [messagesWordings],
  carriers: ['signature', 'redacted'],
  conversation: {
    stopSequences: true,
    tools: {
      maxNameLength: 128,
      namespaces: false,
      customTools: false,
      allowedTools: false,
      declaresCalled: true,
      isCallId: (id) => /^[a-zA-Z0-9_-]+$/.test(id),
    },
  },
  lossNames,
  versionHeaders,
  clientHeader: 'anthropic-version',
  relayFormat: /anthropic|claude|messages/i,
  errorBody,
  rateLimitHeaders,
  errorEvent,
  keepAlive: Buffer.from('event: ping\ndata: {"type":"ping"}\n\n'),
}
