import { expect, test } from 'vitest'
import { DIALECTS } from '../index.ts'
import { sessionOf } from './session.ts'

test.each<[string, string | undefined]>([
  [JSON.stringify({ device_id: 'd', session_id: '0f2f2a1e-1111' }), '0f2f2a1e-1111'],
  ['user_abc_account__session_0f2f2a1e-1111', '0f2f2a1e-1111'],
  [JSON.stringify({ session_id: 5 }), undefined],
  [JSON.stringify({ session_id: 'x'.repeat(65) }), undefined],
  ['{"session_id":', undefined],
  ['u1', undefined],
])('the session in %s', (user, session) => {
  expect(sessionOf(user)).toBe(session)
})

test.each([
  ['messages', { max_tokens: 9, metadata: { user_id: '{"session_id":"s"}' } }, 's'],
  ['messages', { max_tokens: 9 }, undefined],
  // Clients of other dialects name their cache key themselves.
  ['chat', { user: '{"session_id":"s"}' }, undefined],
] as const)('a request of %s with %j', (name, fields, session) => {
  const { codec, parseRequest } = DIALECTS[name]
  const body = { model: 'm', messages: [{ role: 'user', content: 'Hi' }], ...fields }
  const parsed = parseRequest(Buffer.from(JSON.stringify(body)), { maxDepth: 9, maxKeys: 99 }, {})
  const request = codec.decodeRequest(parsed, { seal: () => '', open: () => 'foreign' })
  expect(request.session).toBe(session)
})
