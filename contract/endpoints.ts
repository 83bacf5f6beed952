/** The endpoints that model calls are posted to, and which type of channel each reaches: controller and proxy agree. */
import type { ChannelType } from './api/channel.ts'

export interface EndpointFacts {
  /** Path at the gateway. */
  path: string
  /** Channels of this type speak the endpoint's dialect: bytes pass as they are. */
  byteLane: ChannelType
}

export const ENDPOINTS = {
  chat: { path: '/v1/chat/completions', byteLane: 'chat_completion' },
} as const satisfies Record<string, EndpointFacts>

/** Names of the endpoints that a channel of this type can serve. */
export function endpointsOf(type: ChannelType): string[] {
  return Object.entries(ENDPOINTS).flatMap(([name, { byteLane }]) => (byteLane === type ? [name] : []))
}
