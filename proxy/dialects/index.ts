/** The dialects and the endpoints that speak them. */
import type { IncomingHttpHeaders } from 'node:http'
import type { ApiName } from '../../contract/apis.ts'
import { type EndpointFacts, type EndpointName, ENDPOINTS as FACTS } from '../../contract/endpoints.ts'
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

/** The dialect of errors if a request names none. */
export const DEFAULT_DIALECT: Dialect = chat

/** The dialect that a caller of the relay means by its `format`. */
export function relayDialect(format: string): Dialect {
  const named = Object.values(DIALECTS).find(({ relayFormat }) => relayFormat?.test(format))
  return named ?? DEFAULT_DIALECT
}

/**
 * The API whose error format a client expects: by the first two segments of the path, even if the rest is unknown, else
 * by a header of the client.
 */
export function clientApiOf(path: string, headers: IncomingHttpHeaders): Pick<ClientApi, 'errorBody'> {
  const family = (of: string) => /^\/[^/?]*\/[^/?]*/.exec(of)?.[0]
  const prefix = family(path)
  const named = Object.values(ENDPOINTS).find((endpoint) => family(endpoint.path) === prefix)
  if (named !== undefined) return named.api
  const byHeader = Object.values(DIALECTS).find(
    ({ clientHeader }) => clientHeader !== undefined && headers[clientHeader] !== undefined,
  )
  return byHeader ?? DEFAULT_DIALECT
}
