/** The client dialects and the endpoints that speak them. */
import { type EndpointFacts, ENDPOINTS as FACTS } from '../../contract/endpoints.ts'
import { chat } from './chat/index.ts'
import type { Dialect } from './dialect.ts'

export const DIALECTS = { chat } as const satisfies Record<Dialect['name'], Dialect>

/** An endpoint with the dialect that its clients speak. */
export interface Endpoint extends EndpointFacts {
  dialect: Dialect
}

export const ENDPOINTS = {
  chat: { dialect: chat, ...FACTS.chat },
} as const satisfies Record<keyof typeof FACTS, Endpoint>
