/** The client dialects and the endpoints that speak them. */
import type { ChannelType } from '../../contract/api/index.ts'
import { chat } from './chat/index.ts'
import type { Dialect } from './dialect.ts'

export const DIALECTS = { chat } as const satisfies Record<Dialect['name'], Dialect>

/** An endpoint that model calls are posted to. */
export interface Endpoint {
  dialect: Dialect
  /** Path at the gateway. */
  path: string
  /** Channels of this type speak the dialect: bytes pass as they are. */
  byteLane: ChannelType
}

export const ENDPOINTS = {
  chat: { dialect: chat, path: '/v1/chat/completions', byteLane: 'chat_completion' },
} as const satisfies Record<string, Endpoint>
