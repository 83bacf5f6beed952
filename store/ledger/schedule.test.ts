import fc from 'fast-check'
import { expect, test } from 'vitest'
import { Schedule } from './schedule.ts'

const id = fc.integer({ min: 1, max: 30 }).map((n) => `id${n}`)
const step = fc.oneof(
  { weight: 3, arbitrary: fc.record({ id, at: fc.nat(12) }) },
  { weight: 1, arbitrary: fc.record({ id, at: fc.constant(undefined) }) },
)

test('agrees with a map that is sorted for every query', () => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 80 }), fc.nat(12), fc.nat(40), (steps, now, max) => {
      const schedule = new Schedule()
      const model = new Map<string, number>()
      for (const { id, at } of steps) {
        if (at === undefined) {
          schedule.delete(id)
          model.delete(id)
        } else {
          schedule.set(id, at)
          model.set(id, at)
        }
      }
      const sorted = [...model].sort(([a, x], [b, y]) => x - y || (a < b ? -1 : 1))
      const due = sorted.filter(([, at]) => at <= now).map(([name]) => name)
      expect(schedule.due(now, max)).toEqual(due.slice(0, max))
      expect(schedule.due(Number.POSITIVE_INFINITY, 100)).toEqual(sorted.map(([name]) => name))
      expect(schedule.size).toBe(model.size)
      for (const [name, at] of model) expect(schedule.at(name)).toBe(at)
    }),
  )
})
