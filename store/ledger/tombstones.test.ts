import { expect, test } from 'vitest'
import { KEEP_MS, RECENT_MS, Tombstones } from './tombstones.ts'

const tombstone = (n: number) => ({ cost: String(n), entry: `${n}-0` })

test('however fast they come, the newest fifty thousand ids are known, and memory is bounded', () => {
  const tombstones = new Tombstones()
  const now = 1_000 * KEEP_MS
  for (let n = 0; n < 150_001; n++) tombstones.add(`r${n}`, tombstone(n), now)
  expect(tombstones.get('r150000', now)).toEqual(tombstone(150_000))
  expect(tombstones.get('r100001', now)).toEqual(tombstone(100_001))
  expect(tombstones.get('r50000', now)).toBeUndefined()
})

test('a smaller bound that is set later takes effect', () => {
  let most = 50
  const tombstones = new Tombstones(() => most)
  const now = 1_000 * KEEP_MS
  for (let n = 0; n < 20; n++) tombstones.add(`r${n}`, tombstone(n), now)
  most = 10
  for (let n = 20; n < 31; n++) tombstones.add(`r${n}`, tombstone(n), now)
  expect(tombstones.get('r30', now)).toEqual(tombstone(30))
  expect(tombstones.get('r20', now)).toEqual(tombstone(20))
  expect(tombstones.get('r19', now)).toBeUndefined()
})

test('a few ids are known for as long as a repeat may come', () => {
  const tombstones = new Tombstones()
  const now = 1_000 * KEEP_MS
  tombstones.add('r', tombstone(1), now)
  expect(tombstones.get('r', now + KEEP_MS)).toEqual(tombstone(1))
  tombstones.add('s', tombstone(2), now + 2 * KEEP_MS)
  expect(tombstones.get('r', now + 2 * KEEP_MS)).toBeUndefined()
})

test('a reserve sees an id of the bucket before only for a minute after the change', () => {
  const tombstones = new Tombstones()
  const change = 1_001 * KEEP_MS
  tombstones.add('r', tombstone(1), change - 1)
  // Whether or not the new bucket has begun.
  for (const added of [false, true]) {
    if (added) tombstones.add('s', tombstone(2), change)
    expect(tombstones.recent('r', change)).toEqual(tombstone(1))
    expect(tombstones.recent('r', change + RECENT_MS - 1)).toEqual(tombstone(1))
    expect(tombstones.recent('r', change + RECENT_MS)).toBeUndefined()
    expect(tombstones.get('r', change + RECENT_MS)).toEqual(tombstone(1))
  }
  expect(tombstones.recent('s', change + KEEP_MS - 1)).toEqual(tombstone(2))
  expect(tombstones.recent('r', change + KEEP_MS)).toBeUndefined()
  expect(tombstones.recent('s', change + 2 * KEEP_MS)).toBeUndefined()
})
