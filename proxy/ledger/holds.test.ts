import { afterEach, beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest'
import { StoreUnavailable } from '../../store/contract.ts'
import { createEmbeddedStore } from '../../store/embedded/index.ts'
import type { Ledger } from '../../store/ledger/contract.ts'
import { Holds } from './holds.ts'
import { StoreTime } from './store-time.ts'
import { testNote, testPayer } from './testing.ts'

const ACCOUNT = testPayer()
const FIRST = { seen: 0, note: testNote({ reason: 'checkpoint', channel: '' }) }
const NOTE = testNote()
const LATE = { enforced: true, overdraft: 0, leaseMs: 30_000 }
const AWAY = new StoreUnavailable('away')

let now = 0
let ledger: Ledger
beforeEach(async () => {
  now = 1_000_000
  ledger = createEmbeddedStore({ now: () => now }).ledger
  await ledger.open({ account: ACCOUNT.id, epoch: 1, create: true })
  await ledger.topup({ account: ACCOUNT.id, epoch: 1, id: 'default/first', amount: 1_000 })
})
afterEach(() => vi.useRealTimers())

function holdsOf(on: Ledger = ledger) {
  const failures: [string, unknown][] = []
  const dead: unknown[][] = []
  const again: string[] = []
  const holds = new Holds(on, {
    failed: (...failure) => void failures.push(failure),
    accountMissing: () => undefined,
    heldAgain: (account) => void again.push(account),
    limited: () => undefined,
    dead: ({ account, id, actual }, reason) => void dead.push([account, id, actual, reason]),
  })
  onTestFinished(() => holds.stop(0))
  return { holds, failures, dead, again }
}

/** The ledger, with a command that fails a given number of times, before or after it took effect. */
function failing<C extends 'reserve' | 'renew' | 'settle' | 'balance'>(
  command: C,
  { times, error = AWAY, carriedOut = false }: { times: number; error?: Error; carriedOut?: boolean },
) {
  const original: (...args: never[]) => unknown = ledger[command]
  const calls: unknown[] = []
  const wrapped = async (...args: never[]) => {
    calls.push(args[0])
    if (calls.length > times) return original(...args)
    if (carriedOut) await original(...args)
    throw error
  }
  return { on: { ...ledger, [command]: wrapped } satisfies Ledger, calls }
}

const sums = async () => {
  const balance = await ledger.balance(ACCOUNT.id)
  return balance && [balance.posted, balance.held]
}

describe('take and settle', () => {
  test('take holds the money; settle posts the real cost and frees the rest', async () => {
    const { holds, failures } = holdsOf()
    const hold = await holds.take(ACCOUNT, { id: 'r1', amount: 400, ...FIRST })
    expect([await sums(), holds.live, hold.amount]).toEqual([[1_000, 400], 1, 400])
    expect(await hold.settle(150, NOTE)).toBe('OK')
    expect([await sums(), holds.live, failures]).toEqual([[850, 0], 0, []])
    const entries = await ledger.entries(ACCOUNT.id, undefined, 10)
    expect(entries.at(-1)).toMatchObject({ kind: 'settle', ref: 'r1', delta: -150, note: NOTE })
  })

  test('a cost of 0 frees the hold', async () => {
    const { holds } = holdsOf()
    await (await holds.take(ACCOUNT, { id: 'r1', amount: 400, ...FIRST })).settle(0, NOTE)
    expect(await sums()).toEqual([1_000, 0])
  })

  test('a cost above the hold is posted', async () => {
    const { holds } = holdsOf()
    await (await holds.take(ACCOUNT, { id: 'r1', amount: 400, ...FIRST })).settle(1_500, NOTE)
    expect(await sums()).toEqual([-500, 0])
  })

  test('only as many concurrent requests pass as the funds cover', async () => {
    const { holds } = holdsOf()
    const taken = await Promise.allSettled(
      Array.from({ length: 100 }, async (_, i) => holds.take(ACCOUNT, { id: `r${i}`, amount: 70, ...FIRST })),
    )
    expect(taken.filter(({ status }) => status === 'fulfilled')).toHaveLength(14)
    expect([await sums(), holds.live]).toEqual([[1_000, 980], 14])
  })
})

describe('refusals', () => {
  const funds = { code: 'insufficient_balance', status: 402 }

  test('402 has different codes for empty funds and for funds that do not cover the request', async () => {
    const { holds } = holdsOf()
    const refusal = async (id: string, amount: number) => {
      try {
        return await holds.take(ACCOUNT, { id, amount, ...FIRST })
      } catch (error) {
        return error
      }
    }
    const poor = await refusal('r1', 1_001)
    await ledger.topup({ account: ACCOUNT.id, epoch: 1, id: 'default/second', amount: -1_000 })
    const empty = await refusal('r2', 1)
    expect([poor, empty]).toMatchObject([funds, funds])
    expect(poor).toHaveProperty('message', expect.stringMatching(/does not cover/))
    expect(empty).toHaveProperty('message', expect.stringMatching(/used up/))
    expect(holds.live).toBe(0)
  })

  test('a free route requires positive funds too', async () => {
    const { holds } = holdsOf()
    await holds.take(ACCOUNT, { id: 'r1', amount: 0, ...FIRST })
    await ledger.topup({ account: ACCOUNT.id, epoch: 1, id: 'default/second', amount: -1_000 })
    await expect(async () => holds.take(ACCOUNT, { id: 'r2', amount: 0, ...FIRST })).rejects.toMatchObject(
      funds,
    )
  })

  test('an overdraft counts as funds, and an account without enforcement is never refused', async () => {
    const { holds } = holdsOf()
    await holds.take({ ...ACCOUNT, overdraft: 500 }, { id: 'r1', amount: 1_500, ...FIRST })
    await holds.take({ ...ACCOUNT, enforced: false }, { id: 'r2', amount: 9_000, ...FIRST })
    expect(await sums()).toEqual([1_000, 10_500])
  })

  test('an account unknown to the ledger is 503, never 402', async () => {
    const { holds } = holdsOf()
    await expect(async () =>
      holds.take(testPayer({ id: 'unknown' }), { id: 'r1', amount: 1, ...FIRST }),
    ).rejects.toMatchObject({
      code: 'store_unavailable',
      status: 503,
      retryAfterSeconds: expect.any(Number),
    })
  })

  test('the same id with another amount, or after its hold is over, is an internal error', async () => {
    const { holds } = holdsOf()
    const hold = await holds.take(ACCOUNT, { id: 'r1', amount: 10, ...FIRST })
    await expect(async () => holds.take(ACCOUNT, { id: 'r1', amount: 11, ...FIRST })).rejects.toMatchObject({
      code: 'internal_error',
    })
    await hold.settle(10, NOTE)
    await expect(async () => holds.take(ACCOUNT, { id: 'r1', amount: 10, ...FIRST })).rejects.toMatchObject({
      code: 'internal_error',
    })
    expect(await sums()).toEqual([990, 0])
  })
})

describe('admit', () => {
  test.each([
    ['funds', 1_000, 0, true, true],
    ['one nano-dollar', 1, 0, true, true],
    ['nothing', 0, 0, true, false],
    ['debts', -5, 0, true, false],
    ['a debt within the overdraft', -5, 6, true, true],
    ['a debt equal to the overdraft', -5, 5, true, false],
    ['a debt of an account without enforcement', -5, 0, false, true],
  ])('%s', async (_, posted, overdraft, enforced, admitted) => {
    await ledger.topup({ account: ACCOUNT.id, epoch: 1, id: 'default/second', amount: posted - 1_000 })
    const admission = holdsOf().holds.admit({ ...ACCOUNT, overdraft, enforced })
    if (admitted) await expect(admission).resolves.toBeUndefined()
    else await expect(admission).rejects.toMatchObject({ code: 'insufficient_balance' })
  })

  test('ignores money that other requests hold', async () => {
    const { holds } = holdsOf()
    await holds.take(ACCOUNT, { id: 'r1', amount: 1_000, ...FIRST })
    await expect(holds.admit(ACCOUNT)).resolves.toBeUndefined()
  })

  test('answers 503 for an unknown account, and while the store is away', async () => {
    const unavailable = { code: 'store_unavailable', status: 503 }
    await expect(holdsOf().holds.admit(testPayer({ id: 'unknown' }))).rejects.toMatchObject(unavailable)
    const { on, calls } = failing('balance', { times: 2 })
    await expect(holdsOf(on).holds.admit(ACCOUNT)).rejects.toMatchObject(unavailable)
    expect(calls).toHaveLength(2)
  })
})

describe('a store that fails while a hold is taken', () => {
  test.each([false, true])(
    'gets one retry with the same id; the first command took effect: %s',
    async (carriedOut) => {
      const { on, calls } = failing('reserve', { times: 1, carriedOut })
      const { holds } = holdsOf(on)
      await holds.take(ACCOUNT, { id: 'r1', amount: 400, ...FIRST })
      expect(calls).toHaveLength(2)
      expect(calls[1]).toEqual(calls[0])
      expect(await sums()).toEqual([1_000, 400])
    },
  )

  test('is 503 for an account of a key with a budget, and counted here without one', async () => {
    const own = testPayer({ enforced: false, ofKey: true })
    const { on } = failing('reserve', { times: 9 })
    const record = { id: 'month', most: 500, period: 'Month' as const, timeZone: 'UTC', softLimit: [] }
    const budget = { id: 'k/month', most: 500, periods: [0, 2_000_000, 4_000_000] as const }
    const budgets = [{ whose: 'key' as const, record, budget }]
    const meter = { id: 'k/rm', most: 5, windowMs: 60_000, takes: 1 }
    const limits = [{ whose: 'key' as const, kind: 'requests' as const, model: undefined, meter }]
    const { holds } = holdsOf(on)
    const take = (id: string, more: object) => holds.take(own, { id, amount: 400, ...FIRST, limits, ...more })
    await expect(take('r1', { budgets })).rejects.toMatchObject({ code: 'store_unavailable' })
    expect(await take('r2', {})).toMatchObject({ amount: 400 })
  })

  test('is 503 after the second failure', async () => {
    const { on, calls } = failing('reserve', { times: 9 })
    const { holds } = holdsOf(on)
    await expect(async () => holds.take(ACCOUNT, { id: 'r1', amount: 400, ...FIRST })).rejects.toMatchObject({
      code: 'store_unavailable',
      status: 503,
      cause: AWAY,
    })
    expect([calls.length, holds.live]).toEqual([2, 0])
  })

  test('a time-out is not retried', async () => {
    const reserve = vi.fn(
      () => new Promise<never>((_, reject) => setTimeout(() => reject(new StoreUnavailable('slow')), 250)),
    )
    await expect(
      holdsOf({ ...ledger, reserve }).holds.take(ACCOUNT, { id: 'r1', amount: 400, ...FIRST }),
    ).rejects.toMatchObject({
      code: 'store_unavailable',
    })
    expect(reserve).toHaveBeenCalledOnce()
  })

  test('time that the request already spent on the store counts', async () => {
    const time = new StoreTime(50)
    const never = new Promise<never>(() => undefined)
    await expect(time.spend(() => never)).rejects.toBeInstanceOf(StoreUnavailable)
    const reserve = vi.fn(ledger.reserve)
    await expect(
      holdsOf({ ...ledger, reserve }).holds.take(ACCOUNT, { id: 'r1', amount: 400, ...FIRST }, time),
    ).rejects.toMatchObject({ code: 'store_unavailable', retryAfterSeconds: 1 })
    expect(reserve).not.toHaveBeenCalled()
  })

  test.each([false, true])(
    'and whose reply never came voids the hold, which costs nothing; carried out: %s',
    async (carriedOut) => {
      const { on } = failing('reserve', { times: 2, carriedOut })
      const { holds } = holdsOf(on)
      const request = { id: 'r1', amount: 400, seen: 100, note: FIRST.note }
      await expect(async () => holds.take(ACCOUNT, request)).rejects.toMatchObject({
        code: 'store_unavailable',
      })
      await vi.waitFor(async () => expect(await ledger.entries(ACCOUNT.id, undefined, 9)).toHaveLength(2))
      now += 60_000
      await ledger.reap(ACCOUNT.id, 10)
      expect(await sums()).toEqual([1_000, 0])
      expect((await ledger.reserve({ account: ACCOUNT.id, ...request, ...LATE })).reply).toBe('OVER')
    },
  )

  test('before the command was sent has nothing to void', async () => {
    const { on } = failing('reserve', { times: 2, error: new StoreUnavailable('away', { unsent: true }) })
    const settle = vi.fn(ledger.settle)
    const { holds } = holdsOf({ ...on, settle })
    await expect(async () => holds.take(ACCOUNT, { id: 'r1', amount: 400, ...FIRST })).rejects.toMatchObject({
      code: 'store_unavailable',
    })
    expect([settle.mock.calls.length, holds.unsettled]).toEqual([0, 0])
  })

  test('for longer than the request waits voids the hold that it takes later', async () => {
    const slow = Promise.withResolvers<void>()
    const reserve: Ledger['reserve'] = async (command) => {
      await slow.promise
      return ledger.reserve(command)
    }
    const settle: Ledger['settle'] = async (command) => {
      await slow.promise
      return ledger.settle(command)
    }
    const { holds } = holdsOf({ ...ledger, reserve, settle })
    const request = { id: 'r1', amount: 400, ...FIRST }
    await expect(async () => holds.take(ACCOUNT, request, new StoreTime(20))).rejects.toMatchObject({
      code: 'store_unavailable',
    })
    slow.resolve()
    await vi.waitFor(async () => expect(await ledger.entries(ACCOUNT.id, undefined, 9)).toHaveLength(2))
    expect(await sums()).toEqual([1_000, 0])
  })

  test('other errors are not retried', async () => {
    const { on, calls } = failing('reserve', { times: 9, error: new RangeError('a fault') })
    await expect(holdsOf(on).holds.take(ACCOUNT, { id: 'r1', amount: 400, ...FIRST })).rejects.toThrow(
      RangeError,
    )
    expect(calls).toHaveLength(1)
  })
})

describe('settle', () => {
  test.each([false, true])(
    'waits until the store is back; the lost command took effect: %s',
    async (carriedOut) => {
      const { on, calls } = failing('settle', { times: 2, carriedOut })
      const { holds, failures, dead } = holdsOf(on)
      const hold = await holds.take(ACCOUNT, { id: 'r1', amount: 400, ...FIRST })
      expect(await hold.settle(150, NOTE)).toBeUndefined()
      expect([holds.live, holds.unsettled]).toEqual([0, 1])
      await vi.waitFor(() => expect(holds.unsettled).toBe(0), 3_000)
      expect([await sums(), calls.length, dead]).toEqual([[850, 0], 3, []])
      expect(failures).toEqual([
        ['settle', AWAY],
        ['settle', AWAY],
      ])
    },
  )

  test('a cost that cannot be charged any more is reported with all that is needed to charge it by hand', async () => {
    const { holds, dead } = holdsOf({ ...ledger, settle: async () => ({ reply: 'STALE' }) })
    const hold = await holds.take(ACCOUNT, { id: 'r1', amount: 400, ...FIRST })
    expect(await hold.settle(150, NOTE)).toBe('STALE')
    expect([dead, holds.live]).toEqual([[[ACCOUNT.id, 'r1', 150, 'STALE']], 0])
  })

  test('a settle after the expiry is posted; the expiry had charged the last cost seen', async () => {
    const { holds, failures } = holdsOf()
    const hold = await holds.take(ACCOUNT, { id: 'r1', amount: 400, ...FIRST, seen: 40 })
    now += 30_001
    await ledger.reap(ACCOUNT.id, 10)
    expect(await sums()).toEqual([960, 0])
    expect(await hold.settle(150, NOTE)).toBe('LATE')
    expect([await sums(), failures]).toEqual([[850, 0], []])
  })
})

describe('while an upstream answers', () => {
  beforeEach(() => void vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval', 'performance'] }))

  /** Both clocks move. */
  async function pass(ms: number) {
    for (let left = ms; left > 0; left -= 250) {
      now += 250
      await vi.advanceTimersByTimeAsync(250)
    }
  }

  test('every live hold is renewed every ten seconds, with the cost so far', async () => {
    const renew = vi.fn(ledger.renew)
    const { holds } = holdsOf({ ...ledger, renew })
    const first = await holds.take(ACCOUNT, { id: 'r1', amount: 400, ...FIRST })
    await holds.take(ACCOUNT, { id: 'r2', amount: 100, ...FIRST })
    first.seen(70)
    first.seen(30)
    await pass(120_000)
    const renewed = (id: string) =>
      renew.mock.calls.flatMap(([, renewals]) => renewals).filter((renewal) => renewal.id === id)
    for (const id of ['r1', 'r2']) {
      expect(renewed(id).length).toBeGreaterThanOrEqual(12)
      expect(renewed(id).length).toBeLessThanOrEqual(13)
    }
    expect(renewed('r1').at(-1)).toMatchObject({ seen: 70, amount: 400 })
    expect(await ledger.reap(ACCOUNT.id, 10)).toEqual([])

    await first.settle(70, NOTE)
    renew.mockClear()
    await pass(10_000)
    expect([renewed('r1').length, renewed('r2').length]).toEqual([0, 1])

    await holds.stop(0)
    renew.mockClear()
    await pass(60_000)
    expect(renew).not.toHaveBeenCalled()
  })

  test('the last cost that a dead process reported is charged after thirty seconds', async () => {
    const { holds } = holdsOf()
    const note = testNote({ reason: 'checkpoint', tokens: { output: 7 } })
    const hold = await holds.take(ACCOUNT, { id: 'r1', amount: 400, ...FIRST, seen: 20 })
    hold.seen(70, note)
    await pass(10_000)
    await holds.stop(0)
    now += 19_000
    expect(await ledger.reap(ACCOUNT.id, 10)).toEqual([])
    now += 11_000
    expect(await ledger.reap(ACCOUNT.id, 10)).toEqual([{ account: ACCOUNT.id, id: 'r1', charged: 70 }])
    expect((await ledger.entries(ACCOUNT.id, undefined, 10)).at(-1)).toMatchObject({ kind: 'expire', note })
  })

  test('a process that dies before the first renewal has reported what the prompt costs', async () => {
    const { holds } = holdsOf()
    await holds.take(ACCOUNT, { id: 'r1', amount: 400, ...FIRST, seen: 20 })
    now += 30_001
    expect(await ledger.reap(ACCOUNT.id, 10)).toEqual([{ account: ACCOUNT.id, id: 'r1', charged: 20 }])
  })

  test('a hold grows as far as the funds allow', async () => {
    const { holds, failures } = holdsOf()
    const hold = await holds.take(ACCOUNT, { id: 'r1', amount: 400, ...FIRST })
    expect(await hold.extend(600)).toBe(true)
    expect([hold.amount, await sums()]).toEqual([1_000, [1_000, 1_000]])
    expect(await hold.extend(1)).toBe(false)
    expect([hold.amount, await sums(), failures]).toEqual([1_000, [1_000, 1_000], []])
  })

  test('an overdraft lets it grow further, and an account without enforcement is never refused', async () => {
    const { holds } = holdsOf()
    const hold = await holds.take({ ...ACCOUNT, overdraft: 100 }, { id: 'r1', amount: 1_000, ...FIRST })
    expect([await hold.extend(100), await hold.extend(1)]).toEqual([true, false])
    const open = await holds.take({ ...ACCOUNT, enforced: false }, { id: 'r2', amount: 10, ...FIRST })
    expect(await open.extend(1_000_000)).toBe(true)
  })

  test('a store that is away is reported and does not end a stream', async () => {
    const { on } = failing('renew', { times: 1 })
    const { holds, failures } = holdsOf(on)
    const hold = await holds.take(ACCOUNT, { id: 'r1', amount: 400, ...FIRST })
    expect(await hold.extend(5_000)).toBe(true)
    expect([hold.amount, failures]).toEqual([400, [['renew', AWAY]]])
    expect(await hold.extend(5_000)).toBe(false)
  })

  test.each([
    ['AGAIN', 500],
    ['GONE', 400],
    ['NOACCT', 400],
  ] as const)('a reply %s is no lack of funds', async (reply, amount) => {
    const { holds, failures } = holdsOf({ ...ledger, renew: async () => [reply] })
    const hold = await holds.take(ACCOUNT, { id: 'r1', amount: 400, ...FIRST })
    expect([await hold.extend(100), hold.amount, failures]).toEqual([true, amount, []])
  })

  test('a hold that expired during an outage is held again as soon as the store is back', async () => {
    const { holds, again } = holdsOf()
    const hold = await holds.take(ACCOUNT, { id: 'r1', amount: 900, ...FIRST, seen: 50 })
    now += 3_600_000
    await ledger.reap(ACCOUNT.id, 10)
    expect(await sums()).toEqual([950, 0])
    holds.restored()
    await vi.waitFor(async () => expect(await sums()).toEqual([950, 900]))
    expect(again).toEqual([ACCOUNT.id])
    const other = (async () => holds.take(ACCOUNT, { id: 'r2', amount: 100, ...FIRST }))()
    await expect(other).rejects.toMatchObject({ code: 'insufficient_balance' })
    // Growing a hold that the ledger has lost is no reason for a 402.
    expect(await hold.extend(50)).toBe(true)
    expect(await hold.settle(700, NOTE)).toBe('LATE')
    expect(await sums()).toEqual([300, 0])
  })
})

describe('an account without enforcement', () => {
  const UNLIMITED = { ...ACCOUNT, enforced: false }

  test('does not wait for the ledger, and is charged', async () => {
    const answer = Promise.withResolvers<void>()
    const reserve: Ledger['reserve'] = async (command) => {
      await answer.promise
      return ledger.reserve(command)
    }
    const { holds } = holdsOf({ ...ledger, reserve })
    const hold = await holds.take(UNLIMITED, { id: 'r1', amount: 5_000, ...FIRST })
    expect([await sums(), holds.live]).toEqual([[1_000, 0], 1])
    answer.resolve()
    await vi.waitFor(async () => expect(await sums()).toEqual([1_000, 5_000]))
    expect(await hold.settle(30, NOTE)).toBe('OK')
    expect(await sums()).toEqual([970, 0])
  })

  test('is refused while the ledger does not take its holds; the first one is made up for', async () => {
    const { on, calls } = failing('reserve', { times: 3 })
    const { holds, failures } = holdsOf(on)
    await holds.take(UNLIMITED, { id: 'r1', amount: 10, ...FIRST })
    await vi.waitFor(() => expect(failures).toEqual([['reserve', AWAY]]))
    const refused = (async () => holds.take(UNLIMITED, { id: 'r2', amount: 10, ...FIRST }))()
    await expect(refused).rejects.toMatchObject({ code: 'store_unavailable' })
    await vi.waitFor(async () => expect(await sums()).toEqual([1_000, 10]))
    await holds.take(UNLIMITED, { id: 'r3', amount: 10, ...FIRST })
    expect([calls.length, holds.live]).toEqual([4, 2])
  })

  test('that the ledger does not know is refused from the second request on', async () => {
    const { holds, failures } = holdsOf()
    const unknown = testPayer({ id: 'unknown', enforced: false })
    await holds.take(unknown, { id: 'r1', amount: 1, ...FIRST })
    await vi.waitFor(() => expect(failures).toHaveLength(1))
    await expect(async () => holds.take(unknown, { id: 'r2', amount: 1, ...FIRST })).rejects.toMatchObject({
      code: 'store_unavailable',
    })
  })
})
