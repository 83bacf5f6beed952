import { afterEach, beforeEach, expect, it, vi } from 'vitest'
import type { Removal } from '../snapshot.ts'
import { Removals } from './removals.ts'

let told: Removal[]
let removals: Removals

beforeEach(() => {
  vi.useFakeTimers()
  told = []
  removals = new Removals({ now: () => 7, onRemoval: (removal) => told.push(removal) })
})
afterEach(() => vi.useRealTimers())

it('a deletion that arrives piece by piece is one', () => {
  removals.published({ keys: 10, routes: 4 }, { keys: 8, routes: 4 }, ['b'])
  vi.advanceTimersByTime(900)
  removals.published({ keys: 8, routes: 4 }, { keys: 4, routes: 4 }, ['a', 'b'])
  vi.advanceTimersByTime(900)
  expect(told).toEqual([])
  vi.advanceTimersByTime(100)
  expect(told).toMatchObject([{ at: 7, namespaces: ['a', 'b'] }])
  expect(told[0]?.message).toMatch(/^6 of 10 keys were removed at once/)
})

it('half is not most, and what was lost long before does not count', () => {
  removals.published({ keys: 10, routes: 10 }, { keys: 5, routes: 5 }, ['a'])
  vi.advanceTimersByTime(1_000)
  removals.published({ keys: 5, routes: 5 }, { keys: 3, routes: 5 }, ['a'])
  vi.advanceTimersByTime(1_000)
  expect(told).toEqual([])
})

it('what is there again within the moment is not gone', () => {
  removals.published({ keys: 10, routes: 0 }, { keys: 1, routes: 0 }, ['a'])
  removals.published({ keys: 1, routes: 0 }, { keys: 10, routes: 0 }, [])
  vi.advanceTimersByTime(5_000)
  expect(told).toEqual([])
})

it('stopping reports a removal that is still pending', () => {
  removals.published({ keys: 0, routes: 3 }, { keys: 0, routes: 0 }, ['a'])
  removals.stop()
  vi.advanceTimersByTime(5_000)
  expect(told).toHaveLength(1)
  expect(told[0]?.message).toMatch(/^3 of 3 routes were removed at once/)
})
