import { expect, test } from 'vitest'
import { testChannel } from '../../outbound/testing.ts'
import { shownPath } from './shown-path.ts'

test('the log shows each path of a channel without its query, and masks credentials', () => {
  const one = testChannel({ baseURL: 'https://one.example/key-0123456789abc/v1' })
  const two = testChannel({ baseURL: 'https://two.example/v1' })
  for (const _ of ['new', 'known']) {
    expect(shownPath(one, '/chat/completions?version=1')).toBe('/***/v1/chat/completions')
    expect(shownPath(one, '/responses')).toBe('/***/v1/responses')
    expect(shownPath(two, '/responses')).toBe('/v1/responses')
  }
})
