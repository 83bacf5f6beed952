import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import type { Settle } from '../../store/ledger/contract.ts'
import { RecentSettles } from './recent-settles.ts'
import { testNote } from './testing.ts'

beforeEach(() => vi.useFakeTimers({ toFake: ['performance', 'setTimeout', 'clearTimeout'], now: 0 }))
afterEach(() => vi.useRealTimers())

const numbered = (id: number): Settle => ({
  account: 'a',
  id: `${id}`,
  actual: 1,
  reservedAt: 0,
  note: testNote(),
})
const MEMORY_OF_20_000 = 20_000 * JSON.stringify(numbered(10_000)).length
/** Bytes outside of V8's heap, without those of ordinary buffers. */
function resizableMemory(): number {
  const { external, arrayBuffers } = process.memoryUsage()
  return external - arrayBuffers
}
const ids = (recent: RecentSettles) => [...recent].map(([{ id }]) => Number(id))

test('every settle of the last minute is kept, in order, and older ones are forgotten within seconds', () => {
  const recent = new RecentSettles()
  for (let second = 0; second < 200; second++) {
    recent.add(numbered(second))
    vi.advanceTimersByTime(500)
    recent.add(numbered(second + 0.5))
    const kept = ids(recent)
    expect(kept).toEqual(kept.toSorted((a, b) => a - b))
    expect(kept[0]).toBeLessThanOrEqual(Math.max(0, second - 60))
    expect(kept[0]).toBeGreaterThanOrEqual(second - 63)
    vi.advanceTimersByTime(500)
  }
})

test('settles that nothing follows are all kept, in a fraction of the memory', () => {
  const before = resizableMemory()
  const recent = new RecentSettles()
  for (let id = 0; id < 20_000; id++) recent.add(numbered(id))
  expect(resizableMemory() - before).toBeGreaterThan(MEMORY_OF_20_000)
  vi.advanceTimersByTime(9_000)
  expect(resizableMemory() - before).toBeGreaterThan(MEMORY_OF_20_000)
  vi.advanceTimersByTime(480_000)
  expect(resizableMemory() - before).toBeLessThan(MEMORY_OF_20_000 / 5)
  expect(vi.getTimerCount()).toBe(0)
  const all = Array.from({ length: 20_000 }, (_, id) => id)
  expect(ids(recent)).toEqual(all)
  // Those that follow are kept as before, and compressed in the next pause.
  const following = all.map((id) => id + 20_000)
  for (const id of following) recent.add(numbered(id))
  expect(ids(recent)).toEqual(following)
  vi.advanceTimersByTime(9_000)
  recent.add(numbered(40_000))
  following.push(40_000)
  vi.advanceTimersByTime(9_000)
  expect(resizableMemory() - before).toBeGreaterThan(MEMORY_OF_20_000 / 2)
  vi.advanceTimersByTime(20_000)
  expect(ids(recent)).toEqual(following)
  expect(resizableMemory() - before).toBeLessThan(MEMORY_OF_20_000 / 5)
})

test('a flood of settles keeps the newest 50,000 at least, and few more', () => {
  const before = resizableMemory()
  const recent = new RecentSettles()
  for (let id = 0; id < 120_000; id++) recent.add(numbered(id))
  expect(resizableMemory() - before).toBeLessThan(MEMORY_OF_20_000 * 5)
  const kept = ids(recent)
  expect(kept.at(-1)).toBe(119_999)
  expect(kept.length).toBeGreaterThanOrEqual(50_000)
  expect(kept.length).toBeLessThanOrEqual(51_000)
})

test('each settle says a time of at most a second before it was added', () => {
  const recent = new RecentSettles()
  const added: number[] = []
  for (let id = 0; id < 40; id++) {
    added.push(performance.now())
    recent.add(numbered(id))
    vi.advanceTimersByTime(170)
  }
  const waits = [...recent].map(([, at], i) => (added[i] ?? Number.NaN) - at)
  expect(waits).toHaveLength(40)
  expect(Math.min(...waits)).toBeGreaterThanOrEqual(0)
  expect(Math.max(...waits)).toBeLessThan(1_000)
})

test('settles of every size come back as they were added, after many have been forgotten', () => {
  const recent = new RecentSettles()
  const added: string[] = []
  for (let id = 0; id < 60_000; id++) {
    const text = 'é😀\ud800'.repeat(id % 3_000 === 0 ? 2_000 : id % 7)
    const settle: Settle = { ...numbered(id), sub: text, postedAs: `1-${id}` }
    settle.note = testNote({
      flags: ['usage_clamped'],
      budgets: ['b'],
      tags: { team: text },
      upstreamCost: id,
    })
    settle.corrections = [{ id: 'm', most: 10, windowMs: 60_000, by: -7 }]
    settle.budgets = [{ id: 'b', periods: [0, 1, 2] }]
    added.push(JSON.stringify(settle))
    recent.add(settle)
  }
  const kept = [...recent].map(([settle]) => JSON.stringify(settle))
  expect(kept).toEqual(added.slice(-kept.length))
})
