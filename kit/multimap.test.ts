import fc from 'fast-check'
import { expect, it } from 'vitest'
import { Multimap } from './multimap.ts'

const letter = fc.constantFrom('a', 'b', 'c')

it('has the values of a set for each key, after any additions and removals', () => {
  fc.assert(
    fc.property(fc.array(fc.tuple(fc.constantFrom('add', 'remove'), letter, letter)), (steps) => {
      const tested = new Multimap<string, string>()
      const expected = new Map([...'abc'].map((key) => [key, new Set<string>()]))
      for (const [step, key, value] of steps) {
        tested[step](key, value)
        expected.get(key)?.[step === 'add' ? 'add' : 'delete'](value)
      }
      for (const [key, values] of expected) {
        expect([...tested.get(key)].sort()).toEqual([...values].sort())
        expect(tested.has(key)).toBe(values.size > 0)
      }
      const used = [...expected].filter(([, values]) => values.size > 0).map(([key]) => key)
      expect([...tested.keys()].sort()).toEqual(used.sort())
    }),
  )
})
