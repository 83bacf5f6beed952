/** The dialects and the endpoints that speak them. */
import {
  type ApiName,
  type EndpointFacts,
  type EndpointName,
  ENDPOINTS as FACTS,
} from '../../contract/endpoints.ts'
import { chat } from './chat/index.ts'
import type { ClientApi, Dialect } from './core/dialect.ts'
import { embeddings } from './embeddings/index.ts'
import { imageEdits, images } from './images/index.ts'
import { countTokens } from './messages/count/index.ts'
import { messages } from './messages/index.ts'
import { compact } from './responses/compact/index.ts'
import { responses } from './responses/index.ts'

export const DIALECTS: Record<ApiName, Dialect> = { chat, responses, messages, images }

/** An endpoint with the API that its clients speak. */
export interface Endpoint extends EndpointFacts {
  api: ClientApi
}

export const ENDPOINTS: Record<EndpointName, Endpoint> = {
  chat: { api: chat, ...FACTS.chat },
  responses: { api: responses, ...FACTS.responses },
  compact: { api: compact, ...FACTS.compact },
  messages: { api: messages, ...FACTS.messages },
  count_tokens: { api: countTokens, ...FACTS.count_tokens },
  embeddings: { api: embeddings, ...FACTS.embeddings },
  images: { api: images, ...FACTS.images },
  image_edits: { api: imageEdits, ...FACTS.image_edits },
}
