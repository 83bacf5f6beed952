import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { CHANNEL_TYPE_FACTS } from '../../contract/channel-types.ts'
import { credentialHeader } from '../upstream/request.ts'
import { presentedKey } from './credentials.ts'

const NONE = { problem: 'none' }
const MALFORMED = { problem: 'malformed' }
const DIFFERENT = { problem: 'different' }
const K = { key: 'k-1' }

describe('one header', () => {
  test.each([
    [['Authorization', 'Bearer k-1'], K],
    [['authorization', 'bearer k-1'], K],
    [['AUTHORIZATION', 'BEARER k-1'], K],
    [['Authorization', 'Bearer   k-1  '], K],
    [['x-api-key', 'k-1'], K],
    [['X-Api-Key', ' \tk-1\t '], K],
    // Latin-1, as Node reads headers: a different key, which does not exist.
    [['X-Api-Key', '\u00a0k-1'], { key: '\u00a0k-1' }],
    [['X-Api-Key', 'k-1\u00a0'], { key: 'k-1\u00a0' }],
    [['Authorization', 'Bearer k-1\u00a0'], MALFORMED],
    [['Authorization', 'Bearer \u00a0k-1'], MALFORMED],
    [['X-API-KEY', 'Bearer'], { key: 'Bearer' }],
    [[], NONE],
    [['Host', 'example.com', 'x-goog-api-key', 'k-1', 'api-key', 'k-1', 'Cookie', 'k-1'], NONE],
    [['Proxy-Authorization', 'Bearer k-1'], NONE],
    [['Authorization', ''], MALFORMED],
    [['Authorization', 'Bearer'], MALFORMED],
    [['Authorization', 'Bearer '], MALFORMED],
    [['Authorization', 'k-1'], MALFORMED],
    [['Authorization', 'Bearerk-1'], MALFORMED],
    [['Authorization', 'Bearer k-1 k-1'], MALFORMED],
    [['Authorization', 'Basic ay0xOg=='], MALFORMED],
    [['x-api-key', ''], MALFORMED],
    [['x-api-key', '  '], MALFORMED],
  ])('%j', (headers, presented) => {
    expect(presentedKey(headers)).toEqual(presented)
  })
})

test.each(Object.entries(CHANNEL_TYPE_FACTS))('a key is read where %s upstreams expect it', (_, { auth }) => {
  const header = credentialHeader({ ...auth, secret: 'k-1' })
  expect(presentedKey(Object.entries(header).flat())).toEqual(K)
})

describe('both headers', () => {
  const authorization: [string | undefined, 'one' | 'two' | 'none' | 'bad'][] = [
    [undefined, 'none'],
    ['', 'bad'],
    ['Basic azE6', 'bad'],
    ['Bearer k-1', 'one'],
    ['Bearer k-2', 'two'],
  ]
  const apiKey: [string | undefined, 'one' | 'none' | 'bad'][] = [
    [undefined, 'none'],
    ['', 'bad'],
    ['k-1', 'one'],
  ]
  const expected = new Map<string, object>([
    ['none none', NONE],
    ['none one', K],
    ['one none', K],
    ['one one', K],
    ['two none', { key: 'k-2' }],
    ['two one', DIFFERENT],
  ])
  const cases = authorization.flatMap(([a, kindA]) =>
    apiKey.map(([b, kindB]) => ({ a, b, presented: expected.get(`${kindA} ${kindB}`) ?? MALFORMED })),
  )

  test.each(cases)('authorization $a, x-api-key $b', ({ a, b, presented }) => {
    const first = a === undefined ? [] : ['Authorization', a]
    const second = b === undefined ? [] : ['x-api-key', b]
    expect(presentedKey([...first, ...second])).toEqual(presented)
    expect(presentedKey([...second, ...first])).toEqual(presented)
  })
})

describe('a header sent twice', () => {
  test.each(['x-api-key', 'authorization'])('%s: equal values are one key, different ones none', (name) => {
    const value = (key: string) => (name === 'authorization' ? `Bearer ${key}` : key)
    expect(presentedKey([name, value('k-1'), name.toUpperCase(), value('k-1')])).toEqual(K)
    expect(presentedKey([name, value('k-1'), name.toUpperCase(), value('k-2')])).toEqual(DIFFERENT)
    expect(presentedKey([name, value('k-1'), 'accept', '*/*', name, ''])).toEqual(MALFORMED)
  })
})

test('two different keys are never taken for one, whatever is sent', () => {
  const key = fc.stringMatching(/^[!-~]{1,40}$/)
  const header = fc.oneof(
    key.map((k) => ['x-api-key', k]),
    key.map((k) => ['authorization', `Bearer ${k}`]),
  )
  fc.assert(
    fc.property(fc.array(header, { minLength: 1, maxLength: 4 }), (headers) => {
      const keys = new Set(headers.map(([, value = '']) => value.replace(/^Bearer /, '')))
      const presented = presentedKey(headers.flat())
      expect(presented).toEqual(keys.size === 1 ? { key: [...keys][0] } : DIFFERENT)
    }),
  )
})
