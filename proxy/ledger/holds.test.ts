import { afterEach, beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest'
import { StoreUnavailable } from '../../store/contract.ts'
import { createEmbeddedStore } from '../../store/embedded/index.ts'
import type { EntryNote, Ledger } from '../../store/ledger/contract.ts'
import { Holds } from './holds.ts'
import { StoreTime } from './store-time.ts'
import { testPayer } from './testing.ts'

const ACCOUNT = testPayer()
const ABOUT = { model: 'm', key: 'k' }
const NOTE: EntryNote = { reason: 'usage', model: 'm', channel: 'c', key: 'k', tokens: { input: 1 } }
const AWAY = new StoreUnavailable('away')

let now = 0
let ledger: Ledger
beforeEach(async () => {
  now = 1_000_000
  ledger = createEmbeddedStore({ now: () => now }).ledger
  await ledger.open(ACCOUNT.id)
  await ledger.topup({ account: ACCOUNT.id, id: 'default/first', amount: 1_000 })
})
afterEach(() => vi.useRealTimers())

function holdsOf(on: Ledger = ledger) {
  const failures: [string, unknown][] = []
  const dead: unknown[][] = []
  const holds = new Holds(on, {
    failed: (...failure) => void failures.push(failure),
    accountMissing: () => undefined,
    dead: (...settle) => void dead.push(settle),
  })
  onTestFinished(() => holds.stop(0))
  return { holds, failures, dead }
}

/** The ledger, with a command that fails as often as the test says, before or after it was carried out. */
function failing<C extends 'reserve' | 'renew' | 'settle' | 'balance'>(
  command: C,
  { times, error = AWAY, carriedOut = false }: { times: number; error?: Error; carriedOut?: boolean },
) {
  const original: (...args: never[]) => Promise<unknown> = ledger[command]
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
  test('money is held, then the real cost posted and the rest free again', async () => {
    const { holds, failures } = holdsOf()
    const hold = await holds.take(ACCOUNT, { id: 'r1', amount: 400, about: ABOUT })
    expect([await sums(), holds.live, hold.amount]).toEqual([[1_000, 400], 1, 400])
    expect(await hold.settle(150, NOTE)).toBe('OK')
    expect([await sums(), holds.live, failures]).toEqual([[850, 0], 0, []])
    const entries = await ledger.entries(ACCOUNT.id, undefined, 10)
    expect(entries.at(-1)).toMatchObject({ kind: 'settle', ref: 'r1', delta: -150, note: NOTE })
  })

  test('a cost of 0 frees the hold', async () => {
    const { holds } = holdsOf()
    await (await holds.take(ACCOUNT, { id: 'r1', amount: 400, about: ABOUT })).settle(0, NOTE)
    expect(await sums()).toEqual([1_000, 0])
  })

  test('a cost above the hold is posted', async () => {
    const { holds } = holdsOf()
    await (await holds.take(ACCOUNT, { id: 'r1', amount: 400, about: ABOUT })).settle(1_500, NOTE)
    expect(await sums()).toEqual([-500, 0])
  })

  test('of many requests at once only as many pass as the funds cover', async () => {
    const { holds } = holdsOf()
    const taken = await Promise.allSettled(
      Array.from({ length: 100 }, (_, i) => holds.take(ACCOUNT, { id: `r${i}`, amount: 70, about: ABOUT })),
    )
    expect(taken.filter(({ status }) => status === 'fulfilled')).toHaveLength(14)
    expect([await sums(), holds.live]).toEqual([[1_000, 980], 14])
  })
})

describe('refusals', () => {
  const funds = { code: 'insufficient_balance', status: 402 }

  test('402 tells empty funds from funds that do not cover the request', async () => {
    const { holds } = holdsOf()
    const poor = await holds
      .take(ACCOUNT, { id: 'r1', amount: 1_001, about: ABOUT })
      .catch((error: unknown) => error)
    await ledger.topup({ account: ACCOUNT.id, id: 'default/second', amount: -1_000 })
    const empty = await holds
      .take(ACCOUNT, { id: 'r2', amount: 1, about: ABOUT })
      .catch((error: unknown) => error)
    expect([poor, empty]).toMatchObject([funds, funds])
    expect(poor).toHaveProperty('message', expect.stringMatching(/does not cover/))
    expect(empty).toHaveProperty('message', expect.stringMatching(/used up/))
    expect(holds.live).toBe(0)
  })

  test('a free route asks for positive funds, too', async () => {
    const { holds } = holdsOf()
    await holds.take(ACCOUNT, { id: 'r1', amount: 0, about: ABOUT })
    await ledger.topup({ account: ACCOUNT.id, id: 'default/second', amount: -1_000 })
    await expect(holds.take(ACCOUNT, { id: 'r2', amount: 0, about: ABOUT })).rejects.toMatchObject(funds)
  })

  test('an overdraft counts as funds, and who is not enforced is never refused', async () => {
    const { holds } = holdsOf()
    await holds.take({ ...ACCOUNT, overdraft: 500 }, { id: 'r1', amount: 1_500, about: ABOUT })
    await holds.take({ ...ACCOUNT, enforced: false }, { id: 'r2', amount: 9_000, about: ABOUT })
    expect(await sums()).toEqual([1_000, 10_500])
  })

  test('an account that the ledger does not know is 503, never 402', async () => {
    const { holds } = holdsOf()
    await expect(
      holds.take(testPayer({ id: 'unknown' }), { id: 'r1', amount: 1, about: ABOUT }),
    ).rejects.toMatchObject({
      code: 'store_unavailable',
      status: 503,
      retryAfterSeconds: expect.any(Number),
    })
  })

  test('an id that was used for another amount, or whose hold is over, is used twice', async () => {
    const { holds } = holdsOf()
    const hold = await holds.take(ACCOUNT, { id: 'r1', amount: 10, about: ABOUT })
    await expect(holds.take(ACCOUNT, { id: 'r1', amount: 11, about: ABOUT })).rejects.toMatchObject({
      code: 'internal_error',
    })
    await hold.settle(10, NOTE)
    await expect(holds.take(ACCOUNT, { id: 'r1', amount: 10, about: ABOUT })).rejects.toMatchObject({
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
    ['debts within the overdraft', -5, 6, true, true],
    ['debts up to the overdraft', -5, 5, true, false],
    ['debts that nobody enforces', -5, 0, false, true],
  ])('%s', async (_, posted, overdraft, enforced, admitted) => {
    await ledger.topup({ account: ACCOUNT.id, id: 'default/second', amount: posted - 1_000 })
    const asked = holdsOf().holds.admit({ ...ACCOUNT, overdraft, enforced })
    if (admitted) await expect(asked).resolves.toBeUndefined()
    else await expect(asked).rejects.toMatchObject({ code: 'insufficient_balance' })
  })

  test('asks for lasting want alone: money that others hold is no reason', async () => {
    const { holds } = holdsOf()
    await holds.take(ACCOUNT, { id: 'r1', amount: 1_000, about: ABOUT })
    await expect(holds.admit(ACCOUNT)).resolves.toBeUndefined()
  })

  test('an unknown account, or a store that is away, is 503', async () => {
    const unavailable = { code: 'store_unavailable', status: 503 }
    await expect(holdsOf().holds.admit(testPayer({ id: 'unknown' }))).rejects.toMatchObject(unavailable)
    const { on, calls } = failing('balance', { times: 2 })
    await expect(holdsOf(on).holds.admit(ACCOUNT)).rejects.toMatchObject(unavailable)
    expect(calls).toHaveLength(2)
  })
})

describe('a store that fails while a hold is taken', () => {
  test.each([false, true])(
    'is asked once more by the same id; first one carried out: %s',
    async (carriedOut) => {
      const { on, calls } = failing('reserve', { times: 1, carriedOut })
      const { holds } = holdsOf(on)
      await holds.take(ACCOUNT, { id: 'r1', amount: 400, about: ABOUT })
      expect(calls).toHaveLength(2)
      expect(calls[1]).toEqual(calls[0])
      expect(await sums()).toEqual([1_000, 400])
    },
  )

  test('is 503 after the second time', async () => {
    const { on, calls } = failing('reserve', { times: 9 })
    const { holds } = holdsOf(on)
    await expect(holds.take(ACCOUNT, { id: 'r1', amount: 400, about: ABOUT })).rejects.toMatchObject({
      code: 'store_unavailable',
      status: 503,
      cause: AWAY,
    })
    expect([calls.length, holds.live]).toEqual([2, 0])
  })

  test('there is no second time after a time-out', async () => {
    const reserve = vi.fn(
      () => new Promise<never>((_, reject) => setTimeout(() => reject(new StoreUnavailable('slow')), 250)),
    )
    await expect(
      holdsOf({ ...ledger, reserve }).holds.take(ACCOUNT, { id: 'r1', amount: 400, about: ABOUT }),
    ).rejects.toMatchObject({
      code: 'store_unavailable',
    })
    expect(reserve).toHaveBeenCalledOnce()
  })

  test('the time that a request has spent on the store already counts', async () => {
    const time = new StoreTime(50)
    const never = new Promise<never>(() => undefined)
    await expect(time.spend(() => never)).rejects.toBeInstanceOf(StoreUnavailable)
    const reserve = vi.fn(ledger.reserve)
    await expect(
      holdsOf({ ...ledger, reserve }).holds.take(ACCOUNT, { id: 'r1', amount: 400, about: ABOUT }, time),
    ).rejects.toMatchObject({ code: 'store_unavailable', retryAfterSeconds: 1 })
    expect(reserve).not.toHaveBeenCalled()
  })

  test('other errors are not tried again', async () => {
    const { on, calls } = failing('reserve', { times: 9, error: new RangeError('a fault') })
    await expect(holdsOf(on).holds.take(ACCOUNT, { id: 'r1', amount: 400, about: ABOUT })).rejects.toThrow(
      RangeError,
    )
    expect(calls).toHaveLength(1)
  })
})

describe('settle', () => {
  test.each([false, true])('waits until the store is back; carried out: %s', async (carriedOut) => {
    const { on, calls } = failing('settle', { times: 2, carriedOut })
    const { holds, failures, dead } = holdsOf(on)
    const hold = await holds.take(ACCOUNT, { id: 'r1', amount: 400, about: ABOUT })
    expect(await hold.settle(150, NOTE)).toBeUndefined()
    expect([holds.live, holds.unsettled]).toEqual([0, 1])
    await vi.waitFor(() => expect(holds.unsettled).toBe(0), 3_000)
    expect([await sums(), calls.length, dead]).toEqual([[850, 0], 3, []])
    expect(failures).toEqual([
      ['settle', AWAY],
      ['settle', AWAY],
    ])
  })

  test('a cost that nobody charges any more is told with all that is needed to charge it', async () => {
    const { holds, dead } = holdsOf({ ...ledger, settle: async () => 'STALE' })
    const hold = await holds.take(ACCOUNT, { id: 'r1', amount: 400, about: ABOUT })
    expect(await hold.settle(150, NOTE)).toBe('STALE')
    expect([dead, holds.live]).toEqual([[[ACCOUNT.id, 'r1', 150, 'STALE']], 0])
  })

  test('a late one is posted; the expiry had charged what was seen', async () => {
    const { holds, failures } = holdsOf()
    const hold = await holds.take(ACCOUNT, { id: 'r1', amount: 400, about: ABOUT })
    hold.seen(40)
    await hold.renew()
    now += 30_001
    await ledger.reap(ACCOUNT.id, 10)
    expect(await sums()).toEqual([960, 0])
    expect(await hold.settle(150, NOTE)).toBe('LATE')
    expect([await sums(), failures]).toEqual([[850, 0], []])
  })
})

describe('while an upstream answers', () => {
  test('every live hold is renewed each ten seconds, with the cost so far', async () => {
    vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] })
    const renew = vi.fn(ledger.renew)
    const { holds } = holdsOf({ ...ledger, renew })
    const first = await holds.take(ACCOUNT, { id: 'r1', amount: 400, about: ABOUT })
    await holds.take(ACCOUNT, { id: 'r2', amount: 100, about: ABOUT })
    first.seen(70)
    first.seen(30)
    for (let seconds = 10; seconds <= 120; seconds += 10) {
      now += 10_000
      await vi.advanceTimersByTimeAsync(10_000)
    }
    expect(renew).toHaveBeenCalledTimes(24)
    expect(renew).toHaveBeenCalledWith(expect.objectContaining({ id: 'r1', seen: 70, amount: 400 }))
    expect(await ledger.reap(ACCOUNT.id, 10)).toEqual([])

    await first.settle(70, NOTE)
    renew.mockClear()
    await vi.advanceTimersByTimeAsync(10_000)
    expect(renew.mock.calls.map(([{ id }]) => id)).toEqual(['r2'])

    await holds.stop(0)
    renew.mockClear()
    await vi.advanceTimersByTimeAsync(60_000)
    expect(renew).not.toHaveBeenCalled()
  })

  test('of a process that died the last cost seen is charged, after thirty seconds', async () => {
    const { holds } = holdsOf()
    const hold = await holds.take(ACCOUNT, { id: 'r1', amount: 400, about: ABOUT })
    hold.seen(70)
    await hold.renew()
    now += 29_999
    expect(await ledger.reap(ACCOUNT.id, 10)).toEqual([])
    now += 1
    expect(await ledger.reap(ACCOUNT.id, 10)).toEqual([{ account: ACCOUNT.id, id: 'r1', charged: 70 }])
  })

  test('a hold grows while the funds allow it', async () => {
    const { holds, failures } = holdsOf()
    const hold = await holds.take(ACCOUNT, { id: 'r1', amount: 400, about: ABOUT })
    expect(await hold.extend(600)).toBe(true)
    expect([hold.amount, await sums()]).toEqual([1_000, [1_000, 1_000]])
    expect(await hold.extend(1)).toBe(false)
    expect([hold.amount, await sums(), failures]).toEqual([1_000, [1_000, 1_000], []])
  })

  test('an overdraft lets it grow further, and who is not enforced is never refused', async () => {
    const { holds } = holdsOf()
    const hold = await holds.take({ ...ACCOUNT, overdraft: 100 }, { id: 'r1', amount: 1_000, about: ABOUT })
    expect([await hold.extend(100), await hold.extend(1)]).toEqual([true, false])
    const open = await holds.take({ ...ACCOUNT, enforced: false }, { id: 'r2', amount: 10, about: ABOUT })
    expect(await open.extend(1_000_000)).toBe(true)
  })

  test('a store that is away is told and is no reason to end a stream', async () => {
    const { on } = failing('renew', { times: 2 })
    const { holds, failures } = holdsOf(on)
    const hold = await holds.take(ACCOUNT, { id: 'r1', amount: 400, about: ABOUT })
    expect(await hold.extend(5_000)).toBe(true)
    await hold.renew()
    expect([hold.amount, failures]).toEqual([
      400,
      [
        ['renew', AWAY],
        ['renew', AWAY],
      ],
    ])
    expect(await hold.extend(5_000)).toBe(false)
  })
})
