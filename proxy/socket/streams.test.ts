import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { StreamName } from './frames.ts'
import { type StreamLimits, Streams } from './streams.ts'

interface Job {
  id: number
  stream: StreamName
  bytes: number
}

/** Streams whose calls end when the test says so. */
function scripted(limits: Partial<StreamLimits> = {}) {
  const begun: Job[] = []
  const running = new Map<number, () => void>()
  const streams = new Streams<Job>(
    { maxRunning: 16, maxWaiting: 256, maxNames: 32, maxMessageBytes: 1_000, ...limits },
    (job) => {
      begun.push(job)
      return new Promise((resolve) => running.set(job.id, resolve))
    },
  )
  const end = async (id: number) => {
    running.get(id)?.()
    running.delete(id)
    // The end of a call is reported within the same turn.
    await new Promise(setImmediate)
  }
  return { streams, begun, running, end, ids: () => begun.map(({ id }) => id) }
}

test('calls of a stream run one after the other, streams in parallel', async () => {
  const { streams, ids, end } = scripted()
  streams.add({ id: 1, stream: undefined, bytes: 1 })
  streams.add({ id: 2, stream: undefined, bytes: 1 })
  streams.add({ id: 3, stream: 'a', bytes: 1 })
  expect(ids()).toEqual([1, 3])
  await end(1)
  expect(ids()).toEqual([1, 3, 2])
})

test('when all places are taken, streams wait their turn', async () => {
  const { streams, ids, end } = scripted({ maxRunning: 2 })
  for (const [id, stream] of ['a', 'b', 'c', 'd', 'a'].entries()) streams.add({ id, stream, bytes: 1 })
  expect(ids()).toEqual([0, 1])
  await end(0)
  // c was waiting before the second call of a could run.
  expect(ids()).toEqual([0, 1, 2])
  await end(2)
  await end(1)
  expect(ids()).toEqual([0, 1, 2, 3, 4])
})

describe('full', () => {
  test('by the number of waiting calls', async () => {
    const { streams, end } = scripted({ maxWaiting: 2 })
    for (const id of [1, 2]) streams.add({ id, stream: 'a', bytes: 1 })
    expect(streams.full).toBe(false)
    streams.add({ id: 3, stream: 'a', bytes: 1 })
    expect(streams.full).toBe(true)
    await end(1)
    expect(streams.full).toBe(false)
  })

  test('by the bytes of all unfinished calls', async () => {
    const { streams, end } = scripted({ maxMessageBytes: 10 })
    streams.add({ id: 1, stream: 'a', bytes: 10 })
    expect(streams.full).toBe(false)
    streams.add({ id: 2, stream: 'b', bytes: 1 })
    expect(streams.full).toBe(true)
    await end(1)
    expect(streams.full).toBe(false)
  })
})

test('a name counts once, and the unnamed stream does not count', () => {
  const { streams } = scripted({ maxNames: 2 })
  for (const stream of ['a', 'a', undefined, 'b']) streams.add({ id: 0, stream, bytes: 0 })
  expect(['a', 'b', undefined, 'c'].map((name) => streams.admits(name))).toEqual([true, true, true, false])
})

test('in any order of events, each call runs once, in the order of its stream, and within the places', async () => {
  const step = fc.oneof(
    { weight: 5, arbitrary: fc.record({ add: fc.constantFrom(undefined, 'a', 'b', 'c', 'd', 'e') }) },
    { weight: 5, arbitrary: fc.record({ end: fc.nat() }) },
    { weight: 1, arbitrary: fc.constant({ close: true }) },
  )
  await fc.assert(
    fc.asyncProperty(
      fc.array(step, { maxLength: 60 }),
      fc.integer({ min: 1, max: 4 }),
      async (steps, maxRunning) => {
        const { streams, begun, running, end } = scripted({ maxRunning })
        const added: Job[] = []
        const dropped = new Set<number>()
        const busy = () => begun.filter(({ id }) => running.has(id))
        const check = () => {
          const now = busy()
          expect(now.length).toBeLessThanOrEqual(maxRunning)
          expect(new Set(now.map(({ stream }) => stream)).size).toBe(now.length)
          // No place stays free while a stream could use it.
          const seen = new Set(begun.map(({ id }) => id))
          const due = added.filter(
            ({ id, stream }) => !seen.has(id) && !dropped.has(id) && !now.some((b) => b.stream === stream),
          )
          expect(due.length === 0 || now.length === maxRunning).toBe(true)
        }
        for (const step of steps) {
          if ('add' in step) {
            const job = { id: added.length, stream: step.add, bytes: 1 }
            added.push(job)
            streams.add(job)
          } else if ('end' in step) {
            const ids = [...running.keys()]
            if (ids.length > 0) await end(ids[step.end % ids.length] ?? -1)
          } else {
            streams.drop()
            for (const { id } of added) if (!begun.some((job) => job.id === id)) dropped.add(id)
          }
          check()
        }
        while (running.size > 0) await end([...running.keys()][0] ?? -1)
        expect([streams.quiet, streams.full]).toEqual([true, false])
        for (const name of new Set(added.map(({ stream }) => stream))) {
          const kept = added.filter(({ id, stream }) => stream === name && !dropped.has(id))
          expect(begun.filter(({ stream }) => stream === name)).toEqual(kept)
        }
      },
    ),
  )
})
