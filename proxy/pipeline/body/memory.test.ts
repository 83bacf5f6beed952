import fc from 'fast-check'
import { expect, test } from 'vitest'
import { BodyMemory } from './memory.ts'

/** A body, with its refusal if there is one. */
function body(memory: BodyMemory, length?: number) {
  const refusals: unknown[] = []
  const lease = memory.lease((error) => refusals.push(error), length)
  return { lease, refusals }
}

test('the largest incomplete body gives way to small ones', () => {
  const memory = new BodyMemory(100)
  const large = body(memory)
  const larger = body(memory)
  const small = body(memory)
  expect([large.lease.take(40), larger.lease.take(50), small.lease.take(20)]).toEqual([true, true, true])
  expect(larger.refusals).toEqual([
    expect.objectContaining({ code: 'overloaded', status: 503, retryAfterSeconds: 1 }),
  ])
  expect([large.refusals, small.refusals, memory.used]).toEqual([[], [], 60])
  expect(larger.lease.take(1_000)).toBe(false)
  expect(memory.used).toBe(60)
})

test('a complete body stays, and the new one is refused', () => {
  const memory = new BodyMemory(100)
  const whole = body(memory)
  whole.lease.take(80)
  whole.lease.complete()
  // What it inflates to.
  whole.lease.take(10)
  const small = body(memory)
  expect(small.lease.take(11)).toBe(false)
  expect([whole.refusals.length, small.refusals.length, memory.used]).toEqual([0, 1, 90])
  whole.lease.release()
  expect(body(memory).lease.take(100)).toBe(true)
})

test('a body of known length gives way until its last byte has come, even before its end is known', () => {
  const memory = new BodyMemory(100)
  const whole = body(memory, 50)
  const part = body(memory, 50)
  whole.lease.take(50)
  part.lease.take(49)
  expect(body(memory).lease.take(40)).toBe(true)
  expect([whole.refusals.length, part.refusals.length, memory.used]).toEqual([0, 1, 90])
})

test('in any order of events the counted bytes are those of live bodies, and within the bound', () => {
  const event = fc.record({
    what: fc.constantFrom('open', 'take', 'complete', 'release'),
    which: fc.nat(7),
    bytes: fc.integer({ min: 1, max: 60 }),
  })
  fc.assert(
    fc.property(fc.array(event, { maxLength: 60 }), (events) => {
      const memory = new BodyMemory(100)
      const open: (ReturnType<typeof body> & { bytes: number; over: boolean })[] = []
      for (const { what, which, bytes } of events) {
        if (what === 'open') open.push({ ...body(memory), bytes: 0, over: false })
        const one = open[which % Math.max(1, open.length)]
        if (one === undefined) continue
        if (what === 'take' && !one.over) {
          one.bytes += bytes
          one.lease.take(bytes)
        }
        if (what === 'complete') one.lease.complete()
        if (what === 'release') {
          one.lease.release()
          one.over = true
        }
        for (const each of open) if (each.refusals.length > 0) each.over = true
        const live = open.reduce((sum, each) => sum + (each.over ? 0 : each.bytes), 0)
        expect(memory.used).toBe(live)
        expect(memory.used).toBeLessThanOrEqual(100)
        expect(open.every(({ refusals }) => refusals.length <= 1)).toBe(true)
      }
    }),
  )
})
