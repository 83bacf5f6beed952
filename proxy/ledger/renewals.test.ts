import { afterEach, beforeEach, expect, onTestFinished, test, vi } from 'vitest'
import { StoreUnavailable } from '../../store/contract.ts'
import type { Ledger, Renewal } from '../../store/ledger/contract.ts'
import { type Renewable, Renewals } from './renewals.ts'
import { testNote } from './testing.ts'

const ROUND_MS = 10_000
const AWAY = new StoreUnavailable('away')

beforeEach(() => void vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval', 'performance'] }))
afterEach(() => vi.useRealTimers())

function holdOf(account: string, id: string): Renewable {
  const note = testNote()
  const terms = { id, amount: 1, seen: 0, enforced: true, overdraft: 0, leaseMs: 30_000, note, reservedAt: 0 }
  return { account, renewal: () => terms }
}

const holdsOf = (account: string, count: number) =>
  Array.from({ length: count }, (_, i) => holdOf(account, `${account}/r${i}`))

/** A ledger that takes a while for each renewal. */
function slowLedger() {
  const state = { away: false, atOnce: 0, most: 0, largest: 0, failures: 0, commands: 0 }
  const ids: string[] = []
  const renew: Ledger['renew'] = async (_, renewals: readonly Renewal[]) => {
    state.commands++
    state.most = Math.max(state.most, ++state.atOnce)
    state.largest = Math.max(state.largest, renewals.length)
    await Promise.resolve()
    state.atOnce--
    if (state.away) throw AWAY
    ids.push(...renewals.map(({ id }) => id))
    return renewals.map(() => 'OK')
  }
  const renewals = new Renewals(
    { renew },
    { failed: () => void state.failures++, heldAgain: () => undefined },
  )
  onTestFinished(() => renewals.stop())
  return { state, ids, renewals }
}

test('ten thousand holds taken at once are renewed once a round, spread over it, a few commands at a time', async () => {
  const { state, ids, renewals } = slowLedger()
  for (const hold of [...holdsOf('a', 5_000), ...holdsOf('b', 4_000)]) renewals.add(hold)
  for (let i = 0; i < 1_000; i++) renewals.add(holdOf(`c${i}`, `c${i}/r0`))
  let busiest = 0
  for (let ms = 0; ms < ROUND_MS; ms += 250) {
    const before = ids.length
    await vi.advanceTimersByTimeAsync(250)
    busiest = Math.max(busiest, ids.length - before)
  }
  expect([ids.length, new Set(ids).size]).toEqual([10_000, 10_000])
  // Twenty ticks share them.
  expect(busiest).toBeLessThan(1_000)
  expect(state.most).toBeLessThanOrEqual(16)
  expect(state.largest).toBeLessThanOrEqual(64)
  // Holds of one account go together: 250 of one in a tick are four or five commands.
  expect(state.commands).toBeLessThan(1_000 + 20 * 2 * 6)

  const commands = state.commands
  await vi.advanceTimersByTimeAsync(ROUND_MS)
  expect(ids.length).toBe(20_000)
  expect(state.commands).toBeLessThan(2.5 * commands)
})

test('while the store is away one command a second finds out, and all holds are renewed when it is back', async () => {
  const { state, ids, renewals } = slowLedger()
  for (const hold of holdsOf('a', 2_000)) renewals.add(hold)
  state.away = true
  await vi.advanceTimersByTimeAsync(25_000)
  expect(state.commands).toBeLessThanOrEqual(21)
  expect(state.failures).toBe(state.commands)
  state.away = false
  await vi.advanceTimersByTimeAsync(1_250)
  expect(new Set(ids).size).toBe(2_000)
})

test('a hold that was settled is not renewed again', async () => {
  const { ids, renewals } = slowLedger()
  const [kept, settled] = holdsOf('a', 2) as [Renewable, Renewable]
  renewals.add(kept)
  renewals.add(settled)
  renewals.soon(settled)
  renewals.delete(settled)
  renewals.soon(settled)
  await vi.advanceTimersByTimeAsync(ROUND_MS)
  expect([ids, renewals.size]).toEqual([['a/r0'], 1])
})
