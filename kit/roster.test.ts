import fc from 'fast-check'
import { expect, test } from 'vitest'
import { Roster, type Seat } from './roster.ts'

test('has the members of a Set after any joins and leaves', () => {
  const step = fc.record({ leaves: fc.boolean(), which: fc.nat() })
  fc.assert(
    fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
      const roster = new Roster<number>()
      const set = new Set<number>()
      const seats: { seat: Seat<number>; member: number }[] = []
      steps.forEach(({ leaves, which }, member) => {
        const left = leaves ? seats[which % Math.max(1, seats.length)] : undefined
        if (left === undefined) {
          seats.push({ seat: roster.join(member), member })
          set.add(member)
        } else {
          // Also one that has left before.
          roster.leave(left.seat)
          set.delete(left.member)
        }
        expect(roster.size).toBe(set.size)
        expect(roster.members().sort((a, b) => a - b)).toEqual([...set].sort((a, b) => a - b))
      })
    }),
  )
})
