import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { ConversationRoom, Exchange } from '../../../store/contract.ts'
import { remoteRuns } from '../../harness/property-runs.ts'
import { conversationProperty } from './conversation-property.ts'
import type { Current } from './under-test.ts'

const OWNER = 'aaaaaaaaaaaaaaaaaaaa'
const OTHER = 'bbbbbbbbbbbbbbbbbbbb'
const TTL_MS = 3_600_000
/** A store may count an expired text for another minute. */
const ROOM_BACK_MS = TTL_MS + 60_001
const AMPLE: ConversationRoom = { exchangeBytes: 1_000_000, ownerBytes: 10_000_000 }
// FC_RUNS raises this.
const numRuns = remoteRuns(30)

export function conversationCases(current: Current): void {
  const state = () => current().store.state
  const put = (exchange: Exchange, room = AMPLE, owner = OWNER) =>
    state().putExchange(owner, exchange, TTL_MS, room)
  const read = (root: string, id: string, most = 100, owner = OWNER) =>
    state().exchanges(owner, { root, id }, TTL_MS, most)
  const textsOf = async (root: string, id: string) => (await read(root, id))?.map((exchange) => exchange.text)
  /** r1 <- r2 <- r3, and a branch r1 <- b2. */
  const tree = async () => {
    for (const exchange of [R1, R2, R3, B2]) expect(await put(exchange)).toBe('kept')
  }

  test('a chain is read from its root to the requested exchange', async () => {
    await tree()
    expect(await read('r1', 'r3')).toEqual([R1, R2, R3])
    expect(await read('r1', 'r2')).toEqual([R1, R2])
    expect(await read('r1', 'r1')).toEqual([R1])
  })

  test('branches share their beginning', async () => {
    await tree()
    expect(await read('r1', 'b2')).toEqual([R1, B2])
  })

  test('an exchange that was never stored is unknown', async () => {
    await tree()
    expect(await read('r1', 'r9')).toBeUndefined()
    expect(await read('r9', 'r1')).toBeUndefined()
    await state().removeExchange(OWNER, 'r1', 'r9')
  })

  test('a chain with a missing exchange is unknown', async () => {
    await put({ ...R3, parent: 'never' })
    expect(await read('r1', 'r3')).toBeUndefined()
    await tree()
    await state().removeExchange(OWNER, 'r1', 'r2')
    expect(await read('r1', 'r3')).toBeUndefined()
    expect(await read('r1', 'b2')).toEqual([R1, B2])
  })

  test('an owner cannot read, remove or replace the exchanges of another', async () => {
    await tree()
    expect(await read('r1', 'r3', 100, OTHER)).toBeUndefined()
    await state().removeExchange(OTHER, 'r1', 'r3')
    expect(await put({ ...R3, text: '"mine"' }, AMPLE, OTHER)).toBe('kept')
    expect(await read('r1', 'r3', 100, OTHER)).toBeUndefined()
    expect(await read('r1', 'r3')).toEqual([R1, R2, R3])
  })

  test('storing an exchange again replaces it', async () => {
    await tree()
    expect(await put({ ...R2, text: '"again"' })).toBe('kept')
    expect(await textsOf('r1', 'r3')).toEqual([R1.text, '"again"', R3.text])
  })

  test('a stored exchange is independent of the object that was passed in', async () => {
    const given = { ...R1 }
    await put(given)
    given.text = 'changed'
    expect(await read('r1', 'r1')).toEqual([R1])
  })

  test('an exchange is kept until it expires', async () => {
    await put(R1)
    await current().advance(TTL_MS - 1_000)
    expect(await put(R2)).toBe('kept')
    await current().advance(2_000)
    expect(await read('r1', 'r1')).toBeUndefined()
    // r2 is still stored, but the start of its chain is gone.
    expect(await read('r1', 'r2')).toBeUndefined()
  })

  test('reading a chain renews all of it and nothing else', async () => {
    await tree()
    await current().advance(TTL_MS - 1_000)
    expect(await read('r1', 'r2')).toEqual([R1, R2])
    await current().advance(2_000)
    expect(await read('r1', 'r3')).toBeUndefined()
    expect(await read('r1', 'b2')).toBeUndefined()
    await current().advance(TTL_MS - 3_000)
    expect(await read('r1', 'r2')).toEqual([R1, R2])
    await current().advance(TTL_MS + 1_000)
    expect(await read('r1', 'r2')).toBeUndefined()
  })

  describe('a single exchange', () => {
    const one = (id: string, root = 'r1', owner = OWNER) => state().exchange(owner, root, id, TTL_MS)

    test('is read by its owner wherever it is in its chain', async () => {
      await tree()
      expect([await one('r1'), await one('r2'), await one('b2')]).toEqual([R1, R2, B2])
      expect(await one('r2', 'r1', OTHER)).toBeUndefined()
      expect(await one('r9')).toBeUndefined()
      expect(await one('r1', 'r9')).toBeUndefined()
    })

    test('can be read when others of its chain are missing', async () => {
      await tree()
      await state().removeExchange(OWNER, 'r1', 'r2')
      expect([await one('r1'), await one('r2'), await one('r3')]).toEqual([R1, undefined, R3])
    })

    test('is renewed by reading it, and no other exchange is', async () => {
      await tree()
      await current().advance(TTL_MS - 1_000)
      expect(await one('r2')).toEqual(R2)
      await current().advance(2_000)
      expect([await one('r1'), await one('r2'), await one('r3')]).toEqual([undefined, R2, undefined])
      await current().advance(TTL_MS + 1_000)
      expect(await one('r2')).toBeUndefined()
    })

    test('counts against the limit exactly as long as it lives', async () => {
      const room = { exchangeBytes: 100, ownerBytes: 10 }
      await put({ ...R1, text: '1234567890' }, room)
      await current().advance(TTL_MS - 1_000)
      expect(await one('r1')).toMatchObject({ text: '1234567890' })
      await current().advance(62_000)
      expect(await put({ ...B1, text: '1' }, room)).toBe('full')
      await current().advance(TTL_MS - 61_000)
      // The text has expired; its room may not be free yet.
      expect(await one('r1')).toBeUndefined()
      await current().advance(60_001)
      expect(await put({ ...B1, text: '1' }, room)).toBe('kept')
    })
  })

  test('a chain longer than the limit is not read', async () => {
    await tree()
    expect(await read('r1', 'r3', 3)).toEqual([R1, R2, R3])
    expect(await read('r1', 'r3', 2)).toBeUndefined()
    expect(await read('r1', 'r1', 0)).toBeUndefined()
  })

  test('exchanges that refer to each other in a circle are not a chain', async () => {
    await put({ id: 'own', root: 'own', parent: 'own', text: '1' })
    expect(await read('own', 'own', 10_000_000)).toBeUndefined()
    await put({ ...R1, parent: 'r3' })
    await put(R2)
    await put(R3)
    expect(await read('r1', 'r3', 10_000_000)).toBeUndefined()
  })

  test('a long chain is complete and in order', async () => {
    const ids = Array.from({ length: 300 }, (_, i) => `r${i}`)
    await Promise.all(
      ids.map((id, i) => put({ id, root: 'r0', ...(i > 0 && { parent: `r${i - 1}` }), text: `${i}` })),
    )
    const chain = await read('r0', 'r299', 300)
    expect(chain?.map((exchange) => exchange.text)).toEqual(ids.map((_, i) => `${i}`))
    expect(await read('r0', 'r299', 299)).toBeUndefined()
  })

  test.each<[string, string]>([
    ['empty', ''],
    ['ascii', '{"a":"b"}\n{"c": [1]}'],
    ['unicode', '"\u{1F600} äöü \u2028 \0"'],
  ])('a text is read back unchanged: %s', async (_what, text) => {
    await put({ ...R1, text })
    expect(await textsOf('r1', 'r1')).toEqual([text])
  })

  test('a text of 4 MiB is read back whole', async () => {
    const bytes = 4 * 1_048_576
    const text = `"${'x'.repeat(bytes - 2)}"`
    const room = { exchangeBytes: bytes, ownerBytes: bytes }
    expect(await put({ ...R1, text }, room)).toBe('kept')
    const chain = await read('r1', 'r1')
    expect([chain?.length, chain?.[0]?.text === text]).toEqual([1, true])
  })

  test.each<[string, string]>([
    ['braces', '{a}'],
    ['a closing brace', '}{'],
    ['quotes', `"'\\`],
    ['unicode', '\u{1F600}é'],
    ['newlines', 'a\r\n\0b'],
    ['patterns', '%d*?[a]:conv:'],
    ['a list', '","'],
    ['nothing', ''],
    ['1 KiB', 'x'.repeat(1_024)],
  ])('ids may contain %s', async (_what, id) => {
    const root = { id, root: id, text: '1' }
    const next = { id: `${id}2`, root: id, parent: id, text: '2' }
    for (const exchange of [root, next]) expect(await put(exchange, AMPLE, `o${id}`)).toBe('kept')
    expect(await read(id, `${id}2`, 10, `o${id}`)).toEqual([root, next])
    await state().removeExchange(`o${id}`, id, id)
    expect(await read(id, id, 10, `o${id}`)).toBeUndefined()
  })

  test('ids that are equal when concatenated stay distinct', async () => {
    await put({ id: 'c', root: 'a","b', text: '1' })
    expect(await read('a', 'b","c')).toBeUndefined()
    await put({ id: 'bc', root: 'a', text: '2' })
    expect(await read('ab', 'c')).toBeUndefined()
    await put({ id: 'ab', root: 'a', text: '3' }, AMPLE, `${OWNER}a`)
    expect(await read('aa', 'b')).toBeUndefined()
  })

  describe('room', () => {
    test('a text is limited in bytes of UTF-8', async () => {
      const room = { exchangeBytes: 8, ownerBytes: 1_000 }
      expect(await put({ ...R1, text: '"ééé"' }, room)).toBe('kept')
      expect(await put({ ...R2, text: '"ééé "' }, room)).toBe('full')
      expect(await read('r1', 'r2')).toBeUndefined()
    })

    test('the texts of one owner are limited in sum', async () => {
      const room = { exchangeBytes: 100, ownerBytes: 10 }
      expect(await put({ ...R1, text: '"é"' }, room)).toBe('kept')
      expect(await put({ ...R2, text: '1234567' }, room)).toBe('full')
      expect(await put({ ...R2, text: '123456' }, room)).toBe('kept')
      expect(await put({ ...R3, text: '1' }, room)).toBe('full')
      expect(await put({ ...R3, text: '1' }, room, OTHER)).toBe('kept')
      expect(await textsOf('r1', 'r2')).toEqual(['"é"', '123456'])
      expect(await read('r1', 'r3')).toBeUndefined()
    })

    test('a replaced text counts once, and a refused one changes nothing', async () => {
      const room = { exchangeBytes: 100, ownerBytes: 10 }
      expect(await put({ ...R1, text: '1234567' }, room)).toBe('kept')
      expect(await put({ ...R1, text: '1234567890' }, room)).toBe('kept')
      expect(await put({ ...R1, text: '12345678901' }, room)).toBe('full')
      expect(await textsOf('r1', 'r1')).toEqual(['1234567890'])
      expect(await put({ ...R1, text: '123' }, room)).toBe('kept')
      expect(await put({ ...R2, text: '1234567' }, room)).toBe('kept')
      expect(await put({ ...R3, text: '1' }, room)).toBe('full')
    })

    test('concurrent puts are accepted only as far as there is room', async () => {
      const room = { exchangeBytes: 100, ownerBytes: 50 }
      const replies = await Promise.all(
        Array.from({ length: 40 }, (_, i) => put({ id: `r${i}`, root: `r${i}`, text: '1234567' }, room)),
      )
      expect(replies.filter((reply) => reply === 'kept')).toHaveLength(7)
      const found = await Promise.all(replies.map((_, i) => read(`r${i}`, `r${i}`)))
      expect(found.map((chain) => (chain === undefined ? 'full' : 'kept'))).toEqual(replies)
    })

    test('a removal frees its room once', async () => {
      const room = { exchangeBytes: 100, ownerBytes: 10 }
      await put({ ...R1, text: '12345' }, room)
      await put({ ...R2, text: '12345' }, room)
      for (let i = 0; i < 3; i++) await state().removeExchange(OWNER, 'r1', 'r2')
      await state().removeExchange(OWNER, 'r1', 'never')
      expect(await put({ ...R3, text: '123456' }, room)).toBe('full')
      expect(await put({ ...R3, text: '12345' }, room)).toBe('kept')
    })

    test('an expired text frees its room', async () => {
      const room = { exchangeBytes: 100, ownerBytes: 10 }
      await put({ ...R1, text: '12345' }, room)
      await current().advance(TTL_MS - 1_000)
      expect(await put({ ...B1, text: '123456' }, room)).toBe('full')
      await put({ ...R2, text: '1234' }, room)
      await current().advance(ROOM_BACK_MS - TTL_MS + 1_000)
      expect(await put({ ...B1, text: '1234567' }, room)).toBe('full')
      expect(await put({ ...B1, text: '123456' }, room)).toBe('kept')
    })

    test('reading a text keeps its room', async () => {
      const room = { exchangeBytes: 100, ownerBytes: 10 }
      await put({ ...R1, text: '12345' }, room)
      await put({ ...R2, text: '12' }, room)
      for (let i = 0; i < 3; i++) {
        await current().advance(TTL_MS - 1_000)
        expect(await textsOf('r1', 'r2')).toEqual(['12345', '12'])
        expect(await put({ ...B1, text: '1234' }, room)).toBe('full')
      }
      await current().advance(ROOM_BACK_MS)
      expect(await put({ ...B1, text: '1234567890' }, room)).toBe('kept')
    })

    test('thousands of expired texts all free their room', async () => {
      const room = { exchangeBytes: 100, ownerBytes: 2_500 }
      const ids = Array.from({ length: 2_500 }, (_, i) => `x${i}`)
      await Promise.all(ids.map((id) => put({ id, root: id, text: '1' }, room)))
      expect(await put({ ...R1, text: '1' }, room)).toBe('full')
      await current().advance(TTL_MS - 1_000)
      expect(await put({ ...R1, text: '1' }, { ...room, ownerBytes: 2_501 })).toBe('kept')
      await current().advance(ROOM_BACK_MS - TTL_MS + 1_000)
      expect(await put({ ...R2, text: '1'.repeat(99) }, { ...room, ownerBytes: 100 })).toBe('kept')
      expect(await put({ ...R3, text: '1' }, { ...room, ownerBytes: 100 })).toBe('full')
    })
  })

  test('any tree is read as a plain model reads it', async () => {
    await fc.assert(conversationProperty(current), { numRuns })
  }, 120_000)
}

const R1: Exchange = { id: 'r1', root: 'r1', text: '{"n":1}' }
const R2: Exchange = { id: 'r2', root: 'r1', parent: 'r1', text: '{"n":2}' }
const R3: Exchange = { id: 'r3', root: 'r1', parent: 'r2', text: '{"n":3}' }
const B2: Exchange = { id: 'b2', root: 'r1', parent: 'r1', text: '{"n":"b2"}' }
/** Starts another chain. */
const B1: Exchange = { id: 'b1', root: 'b1', text: '{}' }
