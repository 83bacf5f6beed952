import { describe, expect, test } from 'vitest'
import type { ChannelType } from './apis.ts'
import { ENDPOINTS, type EndpointName, endpointsOf, pathTemplate, servingOf } from './endpoints.ts'
import type { Features } from './features.ts'
import { featuresOf } from './profiles.ts'

const TYPES = [
  'chat_completion',
  'responses',
  'messages',
  'embeddings',
  'images',
] as const satisfies ChannelType[]

function servings(endpoint: EndpointName, features: Partial<Features>) {
  return TYPES.map((type) =>
    servingOf(ENDPOINTS[endpoint], type, { ...featuresOf(type, undefined), ...features }, true),
  )
}

describe('how an endpoint reaches chat_completion, responses, messages, embeddings and images', () => {
  test.each<[EndpointName, ReturnType<typeof servings>]>([
    ['chat', ['byte', 'hub', 'hub', undefined, 'hub']],
    ['responses', ['hub', 'byte', 'hub', undefined, 'hub']],
    ['messages', ['hub', 'hub', 'byte', undefined, 'hub']],
    ['compact', ['hub', 'hub', 'hub', undefined, undefined]],
    ['count_tokens', ['estimate', 'estimate', 'byte', undefined, undefined]],
    ['embeddings', [undefined, undefined, undefined, 'byte', undefined]],
    ['images', [undefined, 'hub', undefined, undefined, 'byte']],
    ['image_edits', [undefined, 'hub', undefined, undefined, 'byte']],
  ])('%s, without features', (endpoint, wanted) => {
    expect(servings(endpoint, { compaction: false, embeddings: false, images: false })).toEqual(wanted)
  })

  test.each<[EndpointName, ReturnType<typeof servings>]>([
    ['compact', ['hub', 'byte', 'hub', undefined, undefined]],
    ['embeddings', ['byte', 'byte', undefined, 'byte', undefined]],
    ['images', ['byte', 'byte', undefined, undefined, 'byte']],
    ['image_edits', ['byte', 'byte', undefined, undefined, 'byte']],
  ])('%s, with all features', (endpoint, wanted) => {
    expect(servings(endpoint, { compaction: true, embeddings: true, images: true })).toEqual(wanted)
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

test.each([
  ['/v1/messages', '/v1/messages'],
  ['/v1/responses/:id/input_items', '/v1/responses/{id}/input_items'],
  ['/v1/models/*model', '/v1/models/{model}'],
  ['/v2/models/*model\\::method', '/v2/models/{model}:{method}'],
])('the pattern %s is documented as %s', (pattern, documented) => {
  expect(pathTemplate(pattern)).toBe(documented)
})
