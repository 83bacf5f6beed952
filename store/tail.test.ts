import fc from 'fast-check'
import { expect, test } from 'vitest'
import { Tail } from './tail.ts'

test('agrees with the end of an array', () => {
  fc.assert(
    fc.property(
      fc.integer({ min: 1, max: 7 }),
      fc.nat(20),
      fc.nat(25),
      fc.nat(25),
      (capacity, pushed, after, count) => {
        const all = Array.from({ length: pushed }, (_, i) => i + 1)
        const kept = all.slice(-capacity)
        const tail = new Tail<number>(capacity)
        for (const item of all) tail.push(item)
        expect(tail.last).toBe(pushed)
        expect(tail.after(after, count)).toEqual(kept.filter((item) => item > after).slice(0, count))
        expect(tail.newest(count)).toEqual(kept.toReversed().slice(0, count))
      },
    ),
  )
})

test.each([0, -1, 1.5])('refuses a capacity of %d', (capacity) => {
  expect(() => new Tail(capacity)).toThrow(RangeError)
})
