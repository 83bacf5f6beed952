import fc from 'fast-check'
import { expect, test } from 'vitest'
import { type Candidate, choose } from './choose.ts'

interface Named extends Candidate {
  name: string
}

function candidate(name: string, changes: Partial<Candidate> = {}, priority = 0, weight = 1): Named {
  return { name, target: { priority, weight }, ejectedUntil: 0, full: false, tried: 0, ...changes }
}

function chosen(candidates: readonly Named[], random = 0): string {
  const choice = choose(candidates, random)
  return 'candidate' in choice ? choice.candidate.name : choice.none
}

/** A seeded generator (mulberry32), so that a run can be repeated. */
function generator(seed: number): () => number {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let t = Math.imul(state ^ (state >>> 15), 1 | state)
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t
    return ((t ^ (t >>> 14)) >>> 0) / 4_294_967_296
  }
}

const candidates = fc.array(
  fc.record({
    target: fc.record({ priority: fc.integer({ min: 0, max: 3 }), weight: fc.integer({ min: 0, max: 5 }) }),
    ejectedUntil: fc.constantFrom(0, 0, 10, 20, 30),
    full: fc.boolean(),
    tried: fc.integer({ min: 0, max: 2 }),
  }),
  { maxLength: 8 },
)
const random = fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true })

test('the lowest priority is tried first, then the next one', () => {
  const first = candidate('first', {}, 1)
  const second = candidate('second', {}, 2)
  expect(chosen([second, first])).toBe('first')
  expect(chosen([second, { ...first, tried: 1 }])).toBe('second')
  expect(
    chosen([
      { ...second, tried: 1 },
      { ...first, tried: 1 },
    ]),
  ).toBe('first')
})

test('an ejected channel is used only when no other is left, and then the one whose ejection ends first', () => {
  const long = candidate('long', { ejectedUntil: 900 }, 0)
  const short = candidate('short', { ejectedUntil: 500 }, 5)
  const awake = candidate('awake', { tried: 2 }, 9)
  expect(chosen([long, short, awake])).toBe('awake')
  expect(chosen([long, short])).toBe('short')
  expect(chosen([long])).toBe('long')
})

test('reports why no channel is left', () => {
  expect(chosen([])).toBe('no_target')
  expect(chosen([candidate('unused', {}, 0, 0)])).toBe('no_target')
  expect(chosen([candidate('busy', { full: true }), candidate('unused', {}, 0, 0)])).toBe('full')
})

test('weights set the shares of channels', () => {
  const draws = 40_000
  const next = generator(7)
  const counts = new Map<string, number>()
  const all = [
    candidate('a', {}, 0, 1),
    candidate('b', {}, 0, 2),
    candidate('c', {}, 0, 5),
    candidate('d', {}, 1, 100),
  ]
  for (let i = 0; i < draws; i++) {
    const name = chosen(all, next())
    counts.set(name, (counts.get(name) ?? 0) + 1)
  }
  expect([...counts.keys()].sort()).toEqual(['a', 'b', 'c'])
  for (const [name, weight] of [
    ['a', 1],
    ['b', 2],
    ['c', 5],
  ] as const)
    expect(Math.abs((counts.get(name) ?? 0) / draws - weight / 8)).toBeLessThan(0.01)
})

test('a channel is chosen if any may be, never a full one or one without weight', () => {
  fc.assert(
    fc.property(candidates, random, (all, chance) => {
      const choice = choose(all, chance)
      const eligible = all.filter((c) => !c.full && c.target.weight > 0)
      if ('none' in choice) {
        expect(eligible).toEqual([])
        expect(choice.none).toBe(all.some((c) => c.target.weight > 0) ? 'full' : 'no_target')
      } else expect(eligible).toContain(choice.candidate)
    }),
  )
})

test('no better channel was left', () => {
  fc.assert(
    fc.property(candidates, random, (all, chance) => {
      const choice = choose(all, chance)
      if ('none' in choice) return
      const mine = choice.candidate
      for (const other of all.filter((c) => !c.full && c.target.weight > 0)) {
        if (mine.ejectedUntil > 0) expect(other.ejectedUntil).toBeGreaterThan(0)
        if (mine.ejectedUntil > 0 !== other.ejectedUntil > 0) continue
        expect(other.tried).toBeGreaterThanOrEqual(mine.tried)
        if (other.tried > mine.tried) continue
        expect(other.ejectedUntil).toBeGreaterThanOrEqual(mine.ejectedUntil)
        if (other.ejectedUntil === mine.ejectedUntil)
          expect(other.target.priority).toBeGreaterThanOrEqual(mine.target.priority)
      }
    }),
  )
})
