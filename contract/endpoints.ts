/** The endpoints that model calls are posted to, and how each reaches a type of channel: controller and proxy agree. */
import type { ChannelType } from './api/channel.ts'
import { CHANNEL_TYPE_FACTS } from './channel-types.ts'
import type { Features } from './profiles.ts'

/** The APIs of conversations, which can be converted into each other. */
export const DIALECT_NAMES = ['chat', 'responses', 'messages'] as const
export type DialectName = (typeof DIALECT_NAMES)[number]
/** And those that take a prompt alone, into which conversations can be converted. */
export const API_NAMES = [...DIALECT_NAMES, 'images'] as const
export type ApiName = (typeof API_NAMES)[number]

/**
 * How an endpoint reaches a channel. Native: the upstream has the same API, bytes pass. Hub: by conversion. Estimate:
 * the upstream is not asked, the gateway answers by itself and says so.
 */
export type Way = 'native' | 'hub' | 'estimate'

export interface EndpointFacts {
  /** Path at the gateway: a pattern of express, in which a dialect may find the model. */
  path: string
  /**
   * By type of channel. `{ feature, else }`: native where the upstream has the feature, otherwise as `else` says; not at
   * all without it. A type that is not there is not reached.
   */
  ways: Partial<Record<ChannelType, Way | { feature: keyof Features; else?: Way }>>
  /** Costs nothing. An account without funds is refused all the same. */
  unbilled?: true
  /** GET of the path opens a WebSocket, on which each message is a call of the endpoint. */
  webSocket?: true
  /** Its answers are kept: GET and DELETE of `<path>/<id>`, GET of `<path>/<id>/input_items`. */
  stored?: true
}

const IMAGE_WAYS: EndpointFacts['ways'] = {
  images: 'native',
  chat_completion: { feature: 'images' },
  responses: { feature: 'images', else: 'hub' },
}

export const ENDPOINTS = {
  chat: {
    path: '/v1/chat/completions',
    ways: { chat_completion: 'native', responses: 'hub', messages: 'hub', images: 'hub' },
  },
  responses: {
    path: '/v1/responses',
    ways: { responses: 'native', chat_completion: 'hub', messages: 'hub', images: 'hub' },
    webSocket: true,
    stored: true,
  },
  compact: {
    path: '/v1/responses/compact',
    ways: { responses: { feature: 'compaction', else: 'hub' }, chat_completion: 'hub', messages: 'hub' },
  },
  messages: {
    path: '/v1/messages',
    ways: { messages: 'native', chat_completion: 'hub', responses: 'hub', images: 'hub' },
  },
  count_tokens: {
    path: '/v1/messages/count_tokens',
    ways: { messages: 'native', chat_completion: 'estimate', responses: 'estimate' },
    unbilled: true,
  },
  embeddings: {
    path: '/v1/embeddings',
    ways: {
      embeddings: 'native',
      chat_completion: { feature: 'embeddings' },
      responses: { feature: 'embeddings' },
    },
  },
  images: { path: '/v1/images/generations', ways: IMAGE_WAYS },
  image_edits: { path: '/v1/images/edits', ways: IMAGE_WAYS },
} as const satisfies Record<string, EndpointFacts>

export type EndpointName = keyof typeof ENDPOINTS

export const ENDPOINT_NAMES = Object.keys(ENDPOINTS) as EndpointName[]
/** The one with a WebSocket. */
export const SOCKET_ENDPOINT = theOne('webSocket')
/** The one whose answers are kept. */
export const STORED_ENDPOINT = theOne('stored')
/** The endpoint that tools ask about where none is named. */
export const DEFAULT_ENDPOINT: EndpointName = 'chat'

function theOne(fact: 'webSocket' | 'stored'): EndpointName {
  const name = ENDPOINT_NAMES.find((name) => fact in ENDPOINTS[name])
  if (name === undefined) throw new TypeError(`no endpoint is marked ${fact}`)
  return name
}

/**
 * How a channel of this type and features serves the endpoint; undefined if it does not. `picturesOnly`: whether its
 * route has images channels only. On other routes they answer no text endpoint. Without this, a request that fails on a
 * text channel would be answered with an image of the prompt.
 */
export function wayTo(
  endpoint: EndpointFacts,
  type: ChannelType,
  features: Features,
  picturesOnly: boolean,
): Way | undefined {
  const way = endpoint.ways[type]
  if (CHANNEL_TYPE_FACTS[type].imagesOnly && way === 'hub' && !picturesOnly) return undefined
  if (typeof way !== 'object') return way
  return features[way.feature] === true ? 'native' : way.else
}

/** Names of the endpoints that a channel of this type and features can serve, on a route as wayTo() says. */
export function endpointsOf(type: ChannelType, features: Features, picturesOnly: boolean): EndpointName[] {
  return ENDPOINT_NAMES.filter((name) => wayTo(ENDPOINTS[name], type, features, picturesOnly) !== undefined)
}
