import { describe, expect, test } from 'vitest'
import { SPELLINGS } from './spellings.cases.ts'
import { FixedLookups, makePolicy, PUBLIC_ADDRESS, verdict } from './testing.ts'

describe('spellings', () => {
  test.each(SPELLINGS)('%j: %s (%s)', async (url, expected) => {
    expect(await verdict(makePolicy(), url)).toBe(expected)
  })

  test('addresses are never looked up', async () => {
    const lookups = new FixedLookups(PUBLIC_ADDRESS)
    for (const url of ['http://0x7f.1/', 'http://[::ffff:8.8.8.8]/', 'http://localhost/', 'http://redis/'])
      await verdict(makePolicy({}, lookups), url)
    expect(lookups.calls).toEqual([])
  })
})
