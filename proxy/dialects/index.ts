/** The dialects and the endpoints that speak them. */
import { type DialectName, type EndpointFacts, ENDPOINTS as FACTS } from '../../contract/endpoints.ts'
import { chat } from './chat/index.ts'
import type { Dialect } from './dialect.ts'
import { messages } from './messages/index.ts'
import { responses } from './responses/index.ts'

export const DIALECTS: Record<DialectName, Dialect> = { chat, responses, messages }

/** An endpoint with the dialect that its clients speak. */
export interface Endpoint extends EndpointFacts {
  dialect: Dialect
}

export const ENDPOINTS = {
  chat: { dialect: chat, ...FACTS.chat },
  responses: { dialect: responses, ...FACTS.responses },
  messages: { dialect: messages, ...FACTS.messages },
} as const satisfies Record<keyof typeof FACTS, Endpoint>
