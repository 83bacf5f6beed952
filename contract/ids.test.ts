import { describe, expect, it } from 'vitest'
import { keyHash, objectId } from './ids.ts'

describe('ids', () => {
  // printf default/alice | sha256sum | xxd -r -p | base32 | cut -c1-20, in lower case
  it.each([
    ['default', 'alice', 'wvfy4wfufrnlsdmud6kc'],
    ['team-a', 'research', 'flxaq33havtvnyznnykm'],
  ])('of %s/%s', (namespace, name, id) => {
    expect(objectId(namespace, name)).toBe(id)
  })

  it('differ between namespaces and names', () => {
    expect(objectId('a', 'b')).not.toBe(objectId('b', 'a'))
  })

  // printf sk-example | sha256sum
  it('of a key is its SHA-256', () => {
    expect(keyHash('sk-example')).toBe('f2d4b279b82ad92867af5878fe7482caebdd7b75499868d0362a6e63ff51f046')
  })
})
