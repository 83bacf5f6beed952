import { expect, test } from 'vitest'
import { sessionOf } from './session.ts'
import type { ModelRequest } from './types.ts'

const request = (user: string | undefined, source: ModelRequest['source'] = 'messages'): ModelRequest => ({
  source,
  model: 'm',
  stream: false,
  turns: [],
  tools: [],
  ...(user !== undefined && { user }),
})

test.each<[string | undefined, string | undefined]>([
  [JSON.stringify({ device_id: 'd', session_id: '0f2f2a1e-1111' }), '0f2f2a1e-1111'],
  ['user_abc_account__session_0f2f2a1e-1111', '0f2f2a1e-1111'],
  [JSON.stringify({ session_id: 5 }), undefined],
  [JSON.stringify({ session_id: 'x'.repeat(65) }), undefined],
  ['{"session_id":', undefined],
  ['u1', undefined],
  [undefined, undefined],
])('the session in %s', (user, session) => {
  expect(sessionOf(request(user))).toBe(session)
})

test('clients of other dialects name their cache key themselves', () => {
  expect(sessionOf(request('{"session_id":"s"}', 'chat'))).toBeUndefined()
})
