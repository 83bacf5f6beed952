import { expect, test } from 'vitest'
import { createConversations } from './conversations.ts'

const TTL_MS = 60_000
/** Room for ten texts of 9,000 bytes, with the overhead of each. */
const CAPACITY = 101_000
const ROOM = { exchangeBytes: 9_000, ownerBytes: 54_000 }

function conversations(capacity?: number) {
  const stored = createConversations(() => 0, capacity)
  return {
    put: (owner: string, id: string, text = 'x'.repeat(9_000)) =>
      stored.putExchange(owner, { id, root: id, text }, TTL_MS, ROOM),
    has: async (owner: string, id: string) =>
      (await stored.exchanges(owner, id, id, TTL_MS, 1)) !== undefined,
  }
}

test('the least recently used exchanges make room for others, and free the room of their owner', async () => {
  const { put, has } = conversations(CAPACITY)
  for (let i = 0; i < 6; i++) expect(await put('first', `r${i}`)).toBe('kept')
  expect(await put('first', 'r6')).toBe('full')
  expect(await has('first', 'r0')).toBe(true)
  for (let i = 0; i < 4; i++) expect(await put('second', `r${i}`)).toBe('kept')
  expect(await has('first', 'r1')).toBe(true)
  expect(await put('second', 'r4')).toBe('kept')
  expect([await has('first', 'r0'), await has('first', 'r1'), await has('first', 'r2')]).toEqual([
    true,
    true,
    false,
  ])
  expect(await put('first', 'r6')).toBe('kept')
})

test('exchanges without text take room, too', async () => {
  const { put, has } = conversations(CAPACITY)
  for (let i = 0; i <= 200; i++) expect(await put('first', `r${i}`, '')).toBe('kept')
  expect([await has('first', 'r0'), await has('first', 'r200')]).toEqual([false, true])
})

test('an exchange that is larger than the capacity replaces nothing', async () => {
  const { put, has } = conversations(5_000)
  expect(await put('first', 'r', '{}')).toBe('kept')
  expect(await put('first', 'r')).toBe('full')
  expect(await has('first', 'r')).toBe(true)
})

test('callers cannot change the exchanges that they get', async () => {
  const stored = createConversations(() => 0)
  await stored.putExchange('o', { id: 'r', root: 'r', text: '{}' }, TTL_MS, ROOM)
  const [exchange] = (await stored.exchanges('o', 'r', 'r', TTL_MS, 1)) ?? []
  expect(exchange).toBeDefined()
  expect(Object.isFrozen(exchange)).toBe(true)
})
