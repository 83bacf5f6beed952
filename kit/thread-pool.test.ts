import { expect, onTestFinished, test } from 'vitest'
import { ThreadEnded, ThreadPool } from './thread-pool.ts'

/** A module that answers with its thread and the question. `die` ends the thread, `fill` exhausts its memory. */
const ECHO = `
  import { parentPort, threadId } from 'node:worker_threads'
  parentPort.on('message', (question) => {
    if (question === 'die') process.exit(1)
    if (question === 'fill') for (const all = []; ; ) all.push(new Array(100_000).fill('x' + all.length))
    parentPort.postMessage({ threadId, question })
  })`

interface Answer {
  threadId: number
  question: string
}

const never = new AbortController().signal

function open({ size = 1, idleMs = 60_000, heapMiB = 64 } = {}) {
  const module = new URL(`data:text/javascript,${encodeURIComponent(ECHO)}`)
  const pool = new ThreadPool<string, Answer>({ module, size, idleMs, heapMiB })
  onTestFinished(() => pool.stop())
  return pool
}

test('questions are answered by one thread, in their order', async () => {
  const pool = open()
  expect(pool.size).toBe(0)
  const answered: string[] = []
  const all = ['a', 'b', 'c'].map(async (question) => {
    const answer = await pool.ask(question, never)
    answered.push(answer.question)
    return answer.threadId
  })
  expect(new Set(await Promise.all(all)).size).toBe(1)
  expect(answered).toEqual(['a', 'b', 'c'])
})

test('there are never more threads than allowed', async () => {
  const pool = open({ size: 2 })
  const answers = await Promise.all(['a', 'b', 'c', 'd'].map((question) => pool.ask(question, never)))
  expect(answers.map(({ question }) => question)).toEqual(['a', 'b', 'c', 'd'])
  expect(new Set(answers.map(({ threadId }) => threadId)).size).toBe(2)
  expect(pool.size).toBe(2)
})

test('a question whose signal aborts while it waits is not asked', async () => {
  const pool = open()
  const control = new AbortController()
  const first = pool.ask('a', never)
  const second = pool.ask('die', control.signal)
  const third = pool.ask('c', never)
  control.abort(new Error('left'))
  await expect(second).rejects.toThrow('left')
  expect([(await first).threadId, (await third).question]).toEqual([(await first).threadId, 'c'])
  expect((await first).threadId).toBe((await third).threadId)
})

test('a thread that ends rejects its own question only, and another takes its place', async () => {
  const pool = open()
  const failed = pool.ask('die', never)
  const next = pool.ask('b', never)
  await expect(failed).rejects.toThrow(ThreadEnded)
  await expect(failed).rejects.toMatchObject({ outOfMemory: false })
  expect((await next).question).toBe('b')
})

test('a thread that needs too much memory ends, and says so', async () => {
  const pool = open({ heapMiB: 16 })
  await expect(pool.ask('fill', never)).rejects.toMatchObject({ name: 'ThreadEnded', outOfMemory: true })
})

test('an idle thread ends, and a later question starts another', async () => {
  const pool = open({ idleMs: 1 })
  const { threadId } = await pool.ask('a', never)
  await expect.poll(() => pool.size).toBe(0)
  expect((await pool.ask('b', never)).threadId).not.toBe(threadId)
})
