import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { BodyTurns } from './turns.ts'

beforeEach(() => void vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'setImmediate'] }))
afterEach(() => vi.useRealTimers())

const PARSE_MS = 10

/** A clock that advances only while a body is parsed. */
function setUp(most = 2) {
  const clock = { now: 0 }
  const turns = new BodyTurns(most, () => clock.now)
  const parsed: string[] = []
  const send = (name: string, { client = 'key', signal = new AbortController().signal } = {}) =>
    turns.take(client, signal, async () => {
      clock.now += PARSE_MS
      parsed.push(name)
      return name
    })
  return { turns, parsed, send }
}

test('two large bodies of a client are parsed, the others in order as places become free', async () => {
  const { turns, parsed, send } = setUp()
  const all = Promise.all(['a', 'b', 'c', 'd', 'e'].map((name) => send(name)))
  await vi.advanceTimersByTimeAsync(1)
  expect(parsed).toEqual(['a', 'b'])
  // Each place stays idle for three times as long as it was used.
  await vi.advanceTimersByTimeAsync(3 * PARSE_MS)
  expect(parsed).toEqual(['a', 'b', 'c', 'd'])
  await vi.runAllTimersAsync()
  expect(await all).toEqual(['a', 'b', 'c', 'd', 'e'])
  expect(turns.size).toBe(0)
})

test('other clients do not wait for them', async () => {
  const { parsed, send } = setUp(1)
  void send('a')
  void send('b')
  void send('other', { client: 'other' })
  await vi.advanceTimersByTimeAsync(1)
  expect(parsed).toEqual(['a', 'other'])
})

test('a client that leaves frees its place', async () => {
  const { turns, parsed, send } = setUp(1)
  const [first, second] = [new AbortController(), new AbortController()]
  const left = [send('a', { signal: first.signal }), send('b', { signal: second.signal })]
  const ends = Promise.allSettled(left)
  const last = send('c')
  second.abort('left while it waited')
  first.abort('left during its turn')
  await vi.runAllTimersAsync()
  expect(await last).toBe('c')
  expect((await ends).map((end) => end.status === 'rejected' && end.reason)).toEqual([
    'left during its turn',
    'left while it waited',
  ])
  expect(parsed).toEqual(['c'])
  expect(turns.size).toBe(0)
})

test('a body that cannot be parsed frees its place', async () => {
  const { turns, send } = setUp(1)
  const broken = turns.take('key', new AbortController().signal, async () => {
    throw new Error('no JSON')
  })
  const failed = expect(broken).rejects.toThrow('no JSON')
  const next = send('next')
  await vi.runAllTimersAsync()
  await failed
  expect(await next).toBe('next')
})
