import { beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest'
import { createEmbeddedStore } from '../../store/embedded/index.ts'
import type { EntryNote, Ledger } from '../../store/ledger/contract.ts'
import { Sweep } from './sweep.ts'
import { UsageCounter } from './usage-counter.ts'

const LEASE_MS = 30_000
const about = { model: 'm', channel: '', key: 'k', endpoint: 'chat', tier: '', price: '' }
const NOTE: EntryNote = { ...about, reason: 'checkpoint', tokens: {}, flags: [] }

const NOT_COUNTED = { count: async () => {} }

let now = 0
let ledger: Ledger
let reaped: string[]
let requests = 0

beforeEach(() => {
  now = 1_000_000
  vi.useFakeTimers({ toFake: ['performance', 'setTimeout', 'clearTimeout'] })
  onTestFinished(() => void vi.useRealTimers())
  const embedded = createEmbeddedStore({ now: () => now }).ledger
  reaped = []
  ledger = {
    ...embedded,
    reap(account, max) {
      reaped.push(account)
      return embedded.reap(account, max)
    },
  }
})

async function pass(ms: number) {
  now += ms
  await vi.advanceTimersByTimeAsync(ms)
}

async function use(account: string, holds = 1) {
  await ledger.open({ account, epoch: 1, create: true })
  const terms = { account, amount: 5, seen: 2, enforced: false, overdraft: 0, leaseMs: LEASE_MS, note: NOTE }
  for (let i = 0; i < holds; i++) await ledger.reserve({ ...terms, id: `r${requests++}` })
}

describe('a round', () => {
  it('counts what it expires, and removes no entry that is not counted', async () => {
    await use('a', 3)
    await pass(LEASE_MS)
    const usage = new UsageCounter(ledger, { key: (id) => `default/${id}` })
    const today = Math.floor(now / 86_400_000)
    const counted = async () => {
      for await (const [row] of ledger.usage('a', { from: today, to: today }))
        return [row?.keyName, row?.counts.requests, row?.counts.cost]
      return []
    }
    const trim = vi.fn(async () => expect(await counted()).toEqual(['default/k', 3, 6]))
    await new Sweep({ ...ledger, trim }, usage).round()
    expect(trim).toHaveBeenCalled()
    await new Sweep({ ...ledger, trim }, usage).round()
    expect(await counted()).toEqual(['default/k', 3, 6])
    const away = { count: () => Promise.reject(new Error('away')) }
    trim.mockClear()
    await expect(new Sweep({ ...ledger, trim }, away).round()).rejects.toThrow('away')
    expect(trim).not.toHaveBeenCalled()
  })

  it('expires the holds of accounts that were in use, however many', async () => {
    await use('a')
    await use('b', 2_500)
    const sweep = new Sweep(ledger, NOT_COUNTED)
    await sweep.round()
    expect((await ledger.balance('b'))?.held).toBe(12_500)
    await pass(LEASE_MS)
    await sweep.round()
    expect([(await ledger.balance('a'))?.held, (await ledger.balance('b'))?.held]).toEqual([0, 0])
    expect((await ledger.balance('b'))?.posted).toBe(-5_000)
  })

  it('watches an account until a minute after its last use', async () => {
    const sweep = new Sweep(ledger, NOT_COUNTED)
    await use('a')
    for (let round = 0; round < 5; round++) {
      await sweep.round()
      expect(sweep.active).toEqual(['a'])
      await pass(10_000)
    }
    await use('a')
    await sweep.round()
    await pass(59_000)
    await sweep.round()
    expect(sweep.active).toEqual(['a'])
    await pass(2_000)
    await sweep.round()
    expect(sweep.active).toEqual([])
    reaped = []
    await sweep.round()
    await pass(600_000)
    await sweep.round()
    expect(reaped).toEqual([])
  })

  it('removes entries that are older than two hours, as often as the ledger asks while the account is in use', async () => {
    const trim = vi.fn(ledger.trim)
    const sweep = new Sweep({ ...ledger, trim, trimEveryMs: 300_000 }, NOT_COUNTED)
    const entries = async () => (await ledger.entries('a', undefined, 1_000)).length
    for (let minute = 0; minute < 120; minute++) {
      await use('a')
      await pass(60_000)
      await sweep.round()
    }
    expect(trim.mock.calls.length).toBe(24)
    expect(await entries()).toBe(120)
    for (let minute = 0; minute < 10; minute++) {
      await use('a')
      await pass(60_000)
      await sweep.round()
    }
    expect(await entries()).toBeLessThanOrEqual(126)
    expect(await entries()).toBeGreaterThanOrEqual(120)
  })

  it('finds more accounts than one page has', async () => {
    const accounts = Array.from({ length: 25_000 }, (_, i) => `a${i}`)
    const touched: Ledger['touched'] = async (since, count) =>
      accounts
        .map((account, i) => ({ account, at: 1_000 + Math.floor(i / 9_000) }))
        .filter(({ at }) => at >= since)
        .slice(0, count)
    const sweep = new Sweep({ ...ledger, touched }, NOT_COUNTED)
    await sweep.round()
    expect(sweep.active).toHaveLength(25_000)
  })

  it('reaps the other accounts if one cannot be reached', async () => {
    for (const account of ['a', 'b', 'c']) await use(account)
    const sweep = new Sweep(
      {
        ...ledger,
        reap: async (account, max) => {
          if (account === 'b') throw new Error('away')
          return ledger.reap(account, max)
        },
      },
      NOT_COUNTED,
    )
    await pass(LEASE_MS)
    await expect(sweep.round()).rejects.toThrow('away')
    expect([(await ledger.balance('a'))?.held, (await ledger.balance('c'))?.held]).toEqual([0, 0])
  })
})

describe('a walk', () => {
  it('reaps all accounts, so many a second', async () => {
    for (let i = 0; i < 2_000; i++) await ledger.open({ account: `a${i}`, epoch: 1, create: true })
    const signal = new AbortController().signal
    const walk = new Sweep(ledger, NOT_COUNTED).walk(500, signal)
    await pass(900)
    expect(reaped).toHaveLength(500)
    await pass(5_000)
    await walk
    expect(new Set(reaped).size).toBe(2_000)
  })

  it('removes old entries of accounts that are no longer in use', async () => {
    await use('a', 3)
    await pass(LEASE_MS)
    const sweep = new Sweep(ledger, NOT_COUNTED)
    const signal = new AbortController().signal
    await sweep.walk(500, signal)
    expect(await ledger.entries('a', undefined, 10)).toHaveLength(3)
    await pass(7_200_001)
    await sweep.walk(500, signal)
    expect(await ledger.entries('a', undefined, 10)).toEqual([])
    expect(await ledger.balance('a')).toMatchObject({ entries: 3, journaled: undefined })
  })

  it('ends when the term does', async () => {
    for (let i = 0; i < 2_000; i++) await ledger.open({ account: `a${i}`, epoch: 1, create: true })
    const stop = new AbortController()
    const walk = new Sweep(ledger, NOT_COUNTED).walk(500, stop.signal)
    await pass(100)
    stop.abort()
    await walk
    expect(reaped.length).toBeLessThan(2_000)
  })
})
