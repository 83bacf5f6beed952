import { describe, expect, test } from 'vitest'
import type { ChannelType } from './api/channel.ts'
import { ENDPOINTS, type EndpointName, endpointsOf, wayTo } from './endpoints.ts'
import { type Features, featuresOf } from './profiles.ts'

const TYPES = [
  'chat_completion',
  'responses',
  'messages',
  'embeddings',
  'images',
] as const satisfies ChannelType[]

function ways(endpoint: EndpointName, features: Partial<Features>) {
  return TYPES.map((type) =>
    wayTo(ENDPOINTS[endpoint], type, { ...featuresOf(type, undefined), ...features }, true),
  )
}

describe('how an endpoint reaches chat_completion, responses, messages, embeddings and images', () => {
  test.each<[EndpointName, ReturnType<typeof ways>]>([
    ['chat', ['native', 'hub', 'hub', undefined, 'hub']],
    ['responses', ['hub', 'native', 'hub', undefined, 'hub']],
    ['messages', ['hub', 'hub', 'native', undefined, 'hub']],
    ['compact', ['hub', 'hub', 'hub', undefined, undefined]],
    ['count_tokens', ['estimate', 'estimate', 'native', undefined, undefined]],
    ['embeddings', [undefined, undefined, undefined, 'native', undefined]],
    ['images', [undefined, 'hub', undefined, undefined, 'native']],
    ['image_edits', [undefined, 'hub', undefined, undefined, 'native']],
  ])('%s, without features', (endpoint, wanted) => {
    expect(ways(endpoint, { compaction: false, embeddings: false, images: false })).toEqual(wanted)
  })

  test.each<[EndpointName, ReturnType<typeof ways>]>([
    ['compact', ['hub', 'native', 'hub', undefined, undefined]],
    ['embeddings', ['native', 'native', undefined, 'native', undefined]],
    ['images', ['native', 'native', undefined, undefined, 'native']],
    ['image_edits', ['native', 'native', undefined, undefined, 'native']],
  ])('%s, with all features', (endpoint, wanted) => {
    expect(ways(endpoint, { compaction: true, embeddings: true, images: true })).toEqual(wanted)
  })
})

test('an images channel answers no text endpoint if the route has other channels', () => {
  const features = featuresOf('images', undefined)
  const IMAGES = ['images', 'image_edits']
  expect(endpointsOf('images', features, false)).toEqual(IMAGES)
  expect(endpointsOf('images', features, true)).toEqual(['chat', 'responses', 'messages', ...IMAGES])
})

test('the endpoints that a channel can serve', () => {
  expect(endpointsOf('embeddings', featuresOf('embeddings', undefined), true)).toEqual(['embeddings'])
  expect(endpointsOf('messages', featuresOf('messages', undefined), true)).toEqual([
    'chat',
    'responses',
    'compact',
    'messages',
    'count_tokens',
  ])
})

test('only count_tokens is unbilled', () => {
  const free = Object.entries(ENDPOINTS).filter(([, facts]) => 'unbilled' in facts)
  expect(free.map(([name]) => name)).toEqual(['count_tokens'])
})
