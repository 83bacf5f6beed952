/** The dialects and the endpoints that speak them. */
import type { IncomingHttpHeaders } from 'node:http'
import {
  type ApiName,
  type EndpointFacts,
  type EndpointName,
  ENDPOINTS as FACTS,
} from '../../contract/endpoints.ts'
import { chat } from './chat/index.ts'
import type { ClientApi, Dialect } from './core/dialect.ts'
import { registerWordings } from './core/errors/wordings.ts'
import { embeddings } from './embeddings/index.ts'
import { imageEdits, images } from './images/index.ts'
import { countTokens } from './messages/count/index.ts'
import { messages } from './messages/index.ts'
import { compact } from './responses/compact/index.ts'
import { responses } from './responses/index.ts'

export const DIALECTS: Record<ApiName, Dialect> = { chat, responses, messages, images }

registerWordings([...new Set(Object.values(DIALECTS).flatMap(({ wordings }) => wordings))])

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

/** Speaks for the gateway where nothing names a dialect. */
export const DEFAULT_DIALECT: Dialect = chat

/** The dialect that a caller of the relay means by its `format`. */
export function relayDialect(format: string): Dialect {
  const named = Object.values(DIALECTS).find(({ relayFormat }) => relayFormat?.test(format))
  return named ?? DEFAULT_DIALECT
}

/**
 * The API that a client reads its errors in: by the path, which may also be a wrong one beside those of an endpoint, or
 * by a header where the path belongs to none.
 */
export function clientApiOf(path: string, headers: IncomingHttpHeaders): Pick<ClientApi, 'errorBody'> {
  const family = (of: string) => /^\/[^/?]*\/[^/?]*/.exec(of)?.[0]
  const asked = family(path)
  const named = Object.values(ENDPOINTS).find((endpoint) => family(endpoint.path) === asked)
  if (named !== undefined) return named.api
  const told = Object.values(DIALECTS).find(
    ({ clientHeader }) => clientHeader !== undefined && headers[clientHeader] !== undefined,
  )
  return told ?? DEFAULT_DIALECT
}
