/** The endpoints for model calls, and how each reaches a type of channel. Controller and proxy share this table. */
import type { ChannelType } from './apis.ts'
import { CHANNEL_TYPE_FACTS } from './channel-types.ts'
import type { Features } from './features.ts'

/** `byte`: the upstream has the same API, bytes pass. `hub`: requests and answers are converted. */
export type LaneKind = 'byte' | 'hub'
/** How a channel serves an endpoint. Estimate: the gateway answers in its place, and marks the answer as estimated. */
export type Serving = LaneKind | 'estimate'

export interface EndpointFacts {
  /** Path at the gateway: an express pattern, which may contain the model. */
  path: string
  /**
   * By type of channel. `{ feature, else }`: byte if the upstream has the feature, otherwise `else`; without `else`, not
   * reached. Channels of absent types are not reached.
   */
  servedBy: Partial<Record<ChannelType, Serving | { feature: keyof Features; else?: Serving }>>
  /** Costs nothing. Accounts without funds are refused nevertheless. */
  unbilled?: true
  /** GET of the path opens a WebSocket. Each message on it is a call of the endpoint. */
  webSocket?: true
  /** Answers are stored: GET and DELETE of `<path>/<id>`, GET of `<path>/<id>/input_items`. */
  stored?: true
}

const BY_IMAGE_CHANNELS: EndpointFacts['servedBy'] = {
  images: 'byte',
  chat_completion: { feature: 'images' },
  responses: { feature: 'images', else: 'hub' },
}

export const ENDPOINTS = {
  chat: {
    path: '/v1/chat/completions',
    servedBy: { chat_completion: 'byte', responses: 'hub', messages: 'hub', images: 'hub' },
  },
  responses: {
    path: '/v1/responses',
    servedBy: { responses: 'byte', chat_completion: 'hub', messages: 'hub', images: 'hub' },
    webSocket: true,
    stored: true,
  },
  compact: {
    path: '/v1/responses/compact',
    servedBy: { responses: { feature: 'compaction', else: 'hub' }, chat_completion: 'hub', messages: 'hub' },
  },
  messages: {
    path: '/v1/messages',
    servedBy: { messages: 'byte', chat_completion: 'hub', responses: 'hub', images: 'hub' },
  },
  count_tokens: {
    path: '/v1/messages/count_tokens',
    servedBy: { messages: 'byte', chat_completion: 'estimate', responses: 'estimate' },
    unbilled: true,
  },
  embeddings: {
    path: '/v1/embeddings',
    servedBy: {
      embeddings: 'byte',
      chat_completion: { feature: 'embeddings' },
      responses: { feature: 'embeddings' },
    },
  },
  images: { path: '/v1/images/generations', servedBy: BY_IMAGE_CHANNELS },
  image_edits: { path: '/v1/images/edits', servedBy: BY_IMAGE_CHANNELS },
} as const satisfies Record<string, EndpointFacts>

/** An endpoint's path as documents write it: `/v1/models/{model}` for the pattern `/v1/models/*model`. */
export function pathTemplate(pattern: string): string {
  return pattern.replaceAll(
    /\\(.)|[:*](\w+)/g,
    (_, character?: string, name = '') => character ?? `{${name}}`,
  )
}

export type EndpointName = keyof typeof ENDPOINTS

export const ENDPOINT_NAMES = Object.keys(ENDPOINTS) as EndpointName[]
export const SOCKET_ENDPOINT = endpointWith('webSocket')
export const STORED_ENDPOINT = endpointWith('stored')
/** The endpoint that tools use if none is named. */
export const DEFAULT_ENDPOINT: EndpointName = 'chat'

function endpointWith(fact: 'webSocket' | 'stored'): EndpointName {
  const name = ENDPOINT_NAMES.find((name) => fact in ENDPOINTS[name])
  if (name === undefined) throw new TypeError(`no endpoint is marked ${fact}`)
  return name
}

/**
 * How a channel of this type and features serves the endpoint; undefined if it does not. `picturesOnly`: whether its
 * route has images channels only. On other routes they answer no text endpoint. Without this, a request that fails on a
 * text channel would be answered with an image of the prompt.
 */
export function servingOf(
  endpoint: EndpointFacts,
  type: ChannelType,
  features: Features,
  picturesOnly: boolean,
): Serving | undefined {
  const serving = endpoint.servedBy[type]
  if (CHANNEL_TYPE_FACTS[type].imagesOnly && serving === 'hub' && !picturesOnly) return undefined
  if (typeof serving !== 'object') return serving
  return features[serving.feature] === true ? 'byte' : serving.else
}

/** Names of the endpoints that a channel of this type and features can serve, on a route as servingOf() says. */
export function endpointsOf(type: ChannelType, features: Features, picturesOnly: boolean): EndpointName[] {
  return ENDPOINT_NAMES.filter(
    (name) => servingOf(ENDPOINTS[name], type, features, picturesOnly) !== undefined,
  )
}
