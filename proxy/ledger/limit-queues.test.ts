/** Requests that wait for a place: in order, within bounds, and no longer than their client. */
import { afterEach, beforeEach, expect, onTestFinished, test, vi } from 'vitest'
import { createEmbeddedStore } from '../../store/embedded/index.ts'
import type { Ledger } from '../../store/ledger/contract.ts'
import type { Hold } from './hold.ts'
import { Holds } from './holds.ts'
import type { Limit } from './limits.ts'
import { testNote, testPayer } from './testing.ts'

const PAYER = testPayer()
const NOTE = testNote()
const WAIT_MS = 5_000

const limit = (most: number, queue = { most: 3, waitMs: WAIT_MS }): Limit => {
  const meter = { id: 'k/c', most, windowMs: 0, takes: 1 }
  return { whose: 'key', kind: 'concurrent', model: undefined, queue, meter }
}

let ledger: Ledger
let holds: Holds
beforeEach(async () => {
  vi.useFakeTimers()
  ledger = createEmbeddedStore().ledger
  await ledger.open({ account: PAYER.id, epoch: 1, create: true })
  await ledger.topup({ account: PAYER.id, epoch: 1, id: 'default/first', amount: 1_000 })
  holds = otherHolds()
})
afterEach(() => vi.useRealTimers())

/** Those of another proxy with the same ledger. */
function otherHolds(): Holds {
  const ignore = () => undefined
  const events = { failed: ignore, accountMissing: ignore, heldAgain: ignore, limited: ignore, dead: ignore }
  const made = new Holds(ledger, events)
  onTestFinished(() => made.stop(0))
  return made
}

const taken: { id: string; hold: Hold }[] = []
beforeEach(() => taken.splice(0))

async function take(
  id: string,
  limits: Limit[],
  { by = holds, cancel }: { by?: Holds; cancel?: AbortSignal } = {},
) {
  const request = { id, amount: 1, seen: 0, note: NOTE, limits, ...(cancel && { cancel }) }
  const hold = await by.take(PAYER, request)
  taken.push({ id, hold })
}

const ids = () => taken.map(({ id }) => id)
const end = (n: number) => taken[n]?.hold.settle(0, NOTE)
const soon = () => vi.advanceTimersByTimeAsync(1)

test('they get places in the order in which they came', async () => {
  await take('r0', [limit(1)])
  const waiting: Promise<void>[] = []
  for (const id of ['r1', 'r2', 'r3']) {
    waiting.push(take(id, [limit(1)]))
    await soon()
  }
  expect(ids()).toEqual(['r0'])
  for (const [n, expected] of [
    ['r0', 'r1'],
    ['r0', 'r1', 'r2'],
    ['r0', 'r1', 'r2', 'r3'],
  ].entries()) {
    await end(n)
    await soon()
    expect(ids()).toEqual(expected)
  }
  await Promise.all(waiting)
})

test('one beyond the queue is refused at once', async () => {
  await take('r0', [limit(1)])
  const waiting = ['r1', 'r2', 'r3'].map((id) => take(id, [limit(1)]))
  await soon()
  await expect(take('r4', [limit(1)])).rejects.toMatchObject({ code: 'rate_limit_exceeded' })
  for (const n of [0, 1, 2]) {
    await end(n)
    await soon()
  }
  await Promise.all(waiting)
})

test('one whose time is over is refused, and its place in the queue is free', async () => {
  await take('r0', [limit(1)])
  const refused = expect(take('r1', [limit(1)])).rejects.toMatchObject({ code: 'rate_limit_exceeded' })
  await vi.advanceTimersByTimeAsync(WAIT_MS + 300)
  await refused
  const next = take('r2', [limit(1)])
  await soon()
  await end(0)
  await soon()
  await next
  expect(ids()).toEqual(['r0', 'r2'])
})

test('one whose client leaves gives way to the next', async () => {
  await take('r0', [limit(1)])
  const client = new AbortController()
  const gone = expect(take('r1', [limit(1)], { cancel: client.signal })).rejects.toThrow('gone')
  const next = take('r2', [limit(1)])
  await soon()
  client.abort(new Error('gone'))
  await gone
  await end(0)
  await soon()
  await next
  expect(ids()).toEqual(['r0', 'r2'])
})

test('a place that another proxy frees is found', async () => {
  await take('r0', [limit(1)], { by: otherHolds() })
  const waiting = take('r1', [limit(1)])
  await soon()
  await end(0)
  await vi.advanceTimersByTimeAsync(250)
  await waiting
  expect(ids()).toEqual(['r0', 'r1'])
})

test('without a queue no request waits, and a full window is refused although the limit of places has a queue', async () => {
  await take('r0', [{ ...limit(1), queue: undefined }])
  await expect(take('r1', [{ ...limit(1), queue: undefined }])).rejects.toMatchObject({
    retryAfterSeconds: 1,
  })
  const minute: Limit = {
    ...{ whose: 'key', kind: 'requests', model: undefined, queue: undefined },
    meter: { id: 'k/rm', most: 1, windowMs: 60_000, takes: 1 },
  }
  await take('r2', [minute, limit(5)])
  await expect(take('r3', [minute, limit(5)])).rejects.toMatchObject({ retryAfterSeconds: 60 })
})
