import { describe, expect, it } from 'vitest'
import { hasValidChecksum, isMintedFormat, mintKey } from './key-format.ts'

describe('a minted key', () => {
  it('has the prefix, the length, letters and digits, and differs from every other', () => {
    const keys = Array.from({ length: 100 }, mintKey)
    for (const key of keys) expect(key).toMatch(/^sk-sl1[0-9A-Za-z]{48}$/)
    expect(new Set(keys).size).toBe(100)
  })

  it('is recognised, and any one changed character is noticed', () => {
    const key = mintKey()
    expect(isMintedFormat(key)).toBe(true)
    expect(hasValidChecksum(key)).toBe(true)
    for (let i = 6; i < key.length; i++) {
      const other = key.charAt(i) === 'a' ? 'b' : 'a'
      expect(hasValidChecksum(key.slice(0, i) + other + key.slice(i + 1))).toBe(false)
    }
  })

  it('ends in the CRC-32 of the preceding characters', () => {
    // python3: zlib.crc32 of the body, as six digits to the base 62.
    const body = `sk-sl1${'0'.repeat(42)}`
    expect(hasValidChecksum(`${body}3Rl3ac`)).toBe(true)
  })

  it.each(['sk-something-else', 'sk-sl1', `sk-sl1${'a'.repeat(47)}`, `sk-sl1${'a'.repeat(47)}-`])(
    'is not %s',
    (key) => expect(isMintedFormat(key)).toBe(false),
  )
})
