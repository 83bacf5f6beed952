import { expect, onTestFinished, test, vi } from 'vitest'
import { until } from '../../test/harness/gateway.ts'
import { WorkQueue } from './workqueue.ts'

function gate() {
  return Promise.withResolvers<void>()
}

test('a key waits once, and is worked on again if it was added in the meantime', async () => {
  const worked: string[] = []
  const first = gate()
  const queue = new WorkQueue({
    name: 'test',
    concurrency: 1,
    work: async (key: 'a' | 'b') => {
      worked.push(key)
      if (worked.length === 1) await first.promise
    },
  })
  for (const key of ['a', 'b', 'b', 'a', 'a'] as const) queue.add(key)
  await until(() => worked.length === 1, 'the first')
  queue.add('a')
  first.resolve()
  await until(() => worked.length === 3, 'all')
  await queue.stop()
  expect(worked).toEqual(['a', 'b', 'a'])
})

test('never more at once than allowed, and never one key twice', async () => {
  const working = new Set<string>()
  let most = 0
  let done = 0
  const queue = new WorkQueue<string>({
    name: 'test',
    concurrency: 3,
    work: async (key) => {
      expect(working.has(key)).toBe(false)
      working.add(key)
      // It adds itself at once, a few times.
      if (done < 40) queue.add(key)
      most = Math.max(most, working.size)
      await new Promise(setImmediate)
      working.delete(key)
      done++
    },
  })
  for (let i = 0; i < 10; i++) queue.add(`key-${i}`)
  await until(() => done >= 40 && working.size === 0, 'all')
  expect(most).toBe(3)
  await queue.stop()
})

test('a failure is retried, later each time; success resets it', async () => {
  const at: number[] = []
  const results: string[] = []
  let retried = 0
  let added = 0
  const queue = new WorkQueue<string>({
    name: 'test',
    concurrency: 1,
    work: async () => {
      at.push(performance.now())
      if (at.length <= 3 || at.length === 5) throw new Error('not yet')
    },
    metrics: {
      depth: () => {},
      added: () => added++,
      retried: () => retried++,
      waited: (seconds) => expect(seconds).toBeGreaterThanOrEqual(0),
      worked: (_seconds, result) => results.push(result),
    },
  })
  queue.add('a')
  await until(() => at.length === 4, 'the retries')
  const gaps = at.slice(1).map((time, i) => time - (at[i] ?? 0))
  for (const [i, least] of [50, 100, 200].entries()) expect(gaps[i]).toBeGreaterThan(least - 5)
  queue.add('a')
  await until(() => results.length === 6, 'the second row')
  // 50 ms again; it would have been 400.
  expect((at[5] ?? 0) - (at[4] ?? 0)).toBeLessThan(390)
  expect(results).toEqual(['error', 'error', 'error', 'success', 'error', 'success'])
  expect([added, retried]).toEqual([6, 4])
  await queue.stop()
})

test('addAfter: the earliest time counts, and a very late one does not fire at once', async () => {
  const worked: string[] = []
  const queue = new WorkQueue<string>({
    name: 'test',
    concurrency: 1,
    work: async (key) => void worked.push(key),
  })
  queue.addAfter('year', 400 * 24 * 3_600_000)
  queue.addAfter('soon', 60_000)
  queue.addAfter('soon', 10)
  queue.addAfter('soon', 90_000)
  await until(() => worked.length > 0, 'the key')
  expect(worked).toEqual(['soon'])
  await queue.stop()
})

test('perSecond limits the starts', async () => {
  const at: number[] = []
  const queue = new WorkQueue<string>({
    name: 'test',
    concurrency: 50,
    perSecond: 100,
    work: async () => void at.push(performance.now()),
  })
  for (let i = 0; i < 40; i++) queue.add(`key-${i}`)
  await until(() => at.length === 40, 'all')
  // A tenth of a second's worth at once, then one each 10 ms.
  expect((at[39] ?? 0) - (at[0] ?? 0)).toBeGreaterThan(270)
  await queue.stop()
})

test('stop aborts running work, waits for it, and starts nothing more', async () => {
  vi.useFakeTimers()
  onTestFinished(() => void vi.useRealTimers())
  const worked: string[] = []
  const end = gate()
  let aborted = false
  const depths: number[] = []
  const queue = new WorkQueue<string>({
    name: 'test',
    concurrency: 1,
    work: async (key, signal) => {
      worked.push(key)
      signal.addEventListener('abort', () => {
        aborted = true
      })
      await end.promise
      throw new Error('ended')
    },
    metrics: {
      depth: (items) => depths.push(items),
      added: () => {},
      retried: () => {},
      waited: () => {},
      worked: () => {},
    },
  })
  queue.add('a')
  queue.add('b')
  queue.addAfter('c', 1_000)
  await vi.advanceTimersByTimeAsync(1)
  expect(worked).toEqual(['a'])
  let stopped = false
  const stopping = queue.stop().then(() => {
    stopped = true
  })
  expect(aborted).toBe(true)
  await vi.advanceTimersByTimeAsync(1)
  expect(stopped).toBe(false)
  end.resolve()
  await stopping
  queue.add('d')
  await vi.advanceTimersByTimeAsync(60_000)
  expect(worked).toEqual(['a'])
  expect(depths.at(-1)).toBe(0)
})
