import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { type MemoryLimits, MemoryPool, SocketMemory } from './memory.ts'

/** The size that is counted for an item of this many ASCII characters. */
const size = (characters: number) => characters + 64

function memory(limits: Partial<MemoryLimits> = {}, pool = new MemoryPool(Infinity)) {
  return new SocketMemory({ maxAnswers: 64, maxAnswerBytes: Infinity, ...limits }, pool)
}

test('a conversation contains all items up to an answer', () => {
  const m = memory()
  m.of('a').remember('r1', undefined, ['"1"', '"2"'])
  m.of('a').remember('r2', 'r1', ['"3"'])
  m.of('b').remember('r3', 'r1', ['"4"'])
  const { history } = m.of(undefined)
  expect(['r1', 'r2', 'r3', 'r4'].map((id) => history(id))).toEqual([
    ['"1"', '"2"'],
    ['"1"', '"2"', '"3"'],
    ['"1"', '"2"', '"4"'],
    undefined,
  ])
})

test('items shared by several answers count once, and are dropped with the last of these answers', () => {
  const m = memory()
  m.of('a').remember('r1', undefined, ['x'.repeat(100)])
  m.of('a').remember('r2', 'r1', ['yy'])
  m.of('b').remember('r3', 'r1', ['zzz'])
  expect(m.bytes).toBe(size(100) + size(2) + size(3))
  m.failed('a', 'r1')
  expect(m.of('a').history('r1')).toBeUndefined()
  expect(m.of('a').history('r2')).toEqual(['x'.repeat(100), 'yy'])
  m.failed('a', 'r2')
  expect(m.bytes).toBe(size(100) + size(3))
  m.failed('b', 'r3')
  expect([m.bytes, m.answers]).toEqual([0, 0])
})

test('an answer whose conversation is incomplete is not remembered', () => {
  const m = memory()
  m.of('a').remember('r2', 'r1', ['x'])
  expect([m.of('a').history('r2'), m.bytes]).toEqual([undefined, 0])
})

test('a call keeps the conversation that it continues', () => {
  const m = memory()
  m.of('a').remember('r1', undefined, ['x'])
  const call = m.of('b')
  call.history('r1')
  m.failed('a', 'r1')
  call.remember('r2', 'r1', ['y'])
  expect(m.of('b').history('r2')).toEqual(['x', 'y'])
  expect(m.bytes).toBe(2 * size(1))
})

test('of answers with the same id, the newest counts', () => {
  const m = memory()
  m.of('a').remember('same', undefined, ['x'])
  const call = m.of('a')
  call.history('same')
  call.remember('same', 'same', ['y'])
  expect([m.of('a').history('same'), m.answers, m.bytes]).toEqual([['x', 'y'], 1, 2 * size(1)])
})

test('a call that ends after the connection is not remembered', () => {
  const pool = new MemoryPool(Infinity)
  const m = memory({}, pool)
  m.of('a').remember('r1', undefined, ['x'])
  const call = m.of('a')
  call.history('r1')
  m.clear()
  call.remember('r2', 'r1', ['y'])
  m.of('b').remember('r3', undefined, ['z'])
  expect([pool.used, m.bytes, m.answers]).toEqual([0, 0, 0])
})

describe('a call that failed', () => {
  test('makes its stream forget the answer that it continued', () => {
    const m = memory()
    m.of('a').remember('r1', undefined, ['x'])
    m.failed('b', 'r1')
    m.failed(undefined, 'r1')
    m.failed('a', 'r0')
    expect(m.of('a').history('r1')).toEqual(['x'])
    m.failed('a', 'r1')
    expect(m.of('a').history('r1')).toBeUndefined()
  })
})

describe('bounds', () => {
  test('the oldest is dropped first, the newest of each stream last', () => {
    const m = memory({ maxAnswers: 2 })
    m.of('a').remember('a1', undefined, ['x'])
    m.of('b').remember('b1', undefined, ['x'])
    m.of('b').remember('b2', undefined, ['x'])
    const { history } = m.of('a')
    expect(['a1', 'b1', 'b2'].map((id) => history(id) !== undefined)).toEqual([true, false, true])
    m.of('c').remember('c1', undefined, ['x'])
    expect(['a1', 'b2', 'c1'].map((id) => history(id) !== undefined)).toEqual([false, true, true])
  })

  test('a conversation that is too large by itself is not remembered', () => {
    const m = memory({ maxAnswerBytes: size(10) })
    m.of('a').remember('r1', undefined, ['x'.repeat(10)])
    expect(m.answers).toBe(1)
    m.of('a').remember('r2', 'r1', ['y'])
    expect([m.answers, m.bytes]).toEqual([0, 0])
  })

  test('sizes are in bytes of UTF-8', () => {
    const m = memory()
    m.of('a').remember('r1', undefined, ['日本'])
    expect(m.bytes).toBe(size(6))
  })

  test('the connection that holds most is the first to forget', () => {
    const pool = new MemoryPool(3 * size(10))
    const [one, two] = [memory({}, pool), memory({}, pool)]
    one.of('a').remember('r1', undefined, ['x'.repeat(10)])
    one.of('a').remember('r2', undefined, ['x'.repeat(10)])
    two.of('a').remember('r3', undefined, ['x'.repeat(10)])
    two.of('b').remember('r4', undefined, ['x'.repeat(1)])
    expect([one.answers, two.answers, pool.used]).toEqual([1, 2, 2 * size(10) + size(1)])
    expect(one.of('a').history('r2')).toBeDefined()
    two.clear()
    expect(pool.used).toBe(size(10))
    one.clear()
    expect(pool.used).toBe(0)
  })
})

test('any sequence of steps finds whole conversations only, and stays within the bounds', () => {
  const id = fc.constantFrom('r0', 'r1', 'r2', 'r3', 'r4', 'r5', 'r6', 'r7')
  const stream = fc.constantFrom(undefined, 'a', 'b')
  const step = fc.oneof(
    fc.record({
      stream,
      id,
      parent: fc.option(id, { nil: undefined }),
      read: fc.boolean(),
      item: fc.nat(200),
    }),
    fc.record({ stream, failed: id }),
  )
  fc.assert(
    fc.property(
      fc.array(step, { maxLength: 40 }),
      fc.integer({ min: 1, max: 5 }),
      fc.nat(2_000),
      (steps, maxAnswers, maxBytes) => {
        const pool = new MemoryPool(1_500)
        const m = memory({ maxAnswers, maxAnswerBytes: maxBytes }, pool)
        /** The conversation of each answer; an answer with a reused id replaces it. */
        const conversations = new Map<string, string[]>()
        for (const [n, step] of steps.entries()) {
          if ('failed' in step) m.failed(step.stream, step.failed)
          else {
            const { parent } = step
            const call = m.of(step.stream)
            const before = parent === undefined ? [] : m.of('z').history(parent)
            if (parent !== undefined && step.read) call.history(parent)
            const item = `${n}${'x'.repeat(step.item)}`
            call.remember(step.id, parent, [item])
            if (before !== undefined) conversations.set(step.id, [...before, item])
          }
          expect(m.answers).toBeLessThanOrEqual(maxAnswers)
          expect(m.bytes).toBeLessThanOrEqual(Math.min(maxBytes, 1_500))
          expect(pool.used).toBe(m.bytes)
          const items = new Set<string>()
          for (const [known, conversation] of conversations) {
            const found = m.of('z').history(known)
            if (found === undefined) continue
            expect(found).toEqual(conversation)
            for (const item of found) items.add(item)
          }
          expect(m.bytes).toBe([...items].reduce((sum, item) => sum + size(item.length), 0))
        }
        m.clear()
        expect([m.bytes, pool.used]).toEqual([0, 0])
      },
    ),
  )
})
