import { expect, test } from 'vitest'
import { CHANNEL_TYPE_FACTS } from '../../contract/channel-types.ts'
import { DIALECTS, ENDPOINTS } from './index.ts'

test('every endpoint has a path of its own', () => {
  const endpoints = Object.values(ENDPOINTS)
  expect(new Set(endpoints.map((e) => e.path)).size).toBe(endpoints.length)
  for (const { path, api } of endpoints) expect(path.endsWith(api.upstreamPath('m', false))).toBe(true)
})

test('an endpoint that is converted has a codec, and what it is converted into another one', () => {
  for (const { api, servedBy } of Object.values(ENDPOINTS)) {
    for (const [type, serving] of Object.entries(servedBy)) {
      const first = typeof serving === 'object' ? serving.else : serving
      if (first === 'hub') expect([type, api.codec]).not.toEqual([type, undefined])
      if (first === 'estimate') expect([type, api.estimate]).not.toEqual([type, undefined])
    }
  }
})

test('what a type of channel speaks is the dialect of that name', () => {
  for (const { api } of Object.values(CHANNEL_TYPE_FACTS)) if (api) expect(DIALECTS[api].name).toBe(api)
})
