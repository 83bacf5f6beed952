/** The endpoints that model calls are posted to, and which types of channel each reaches: controller and proxy agree. */
import type { ChannelType } from './api/channel.ts'

/** The API of a client: what the three generation endpoints speak, and the channel types of the same names. */
export type DialectName = 'chat' | 'responses' | 'messages'

export interface EndpointFacts {
  /** Path at the gateway. */
  path: string
  /** Channels of this type speak the endpoint's dialect: bytes pass as they are. */
  byteLane: ChannelType
  /** Channels of these types are reached by conversion. */
  hub: readonly ChannelType[]
}

/** Channel types that are asked for text in one of the dialects. */
export const DIALECT_OF_TYPE: Partial<Record<ChannelType, DialectName>> = {
  chat_completion: 'chat',
  responses: 'responses',
  messages: 'messages',
}

export const ENDPOINTS = {
  chat: { path: '/v1/chat/completions', byteLane: 'chat_completion', hub: ['responses', 'messages'] },
  responses: { path: '/v1/responses', byteLane: 'responses', hub: ['chat_completion', 'messages'] },
  messages: { path: '/v1/messages', byteLane: 'messages', hub: ['chat_completion', 'responses'] },
} as const satisfies Record<string, EndpointFacts>

/** True when the endpoint can be served by a channel of this type, in one lane or the other. */
export function reaches(endpoint: EndpointFacts, type: ChannelType): boolean {
  return endpoint.byteLane === type || endpoint.hub.includes(type)
}

/** Names of the endpoints that a channel of this type can serve. */
export function endpointsOf(type: ChannelType): string[] {
  return Object.entries(ENDPOINTS).flatMap(([name, endpoint]) => (reaches(endpoint, type) ? [name] : []))
}
