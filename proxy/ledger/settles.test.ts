import { afterEach, beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest'
import { StoreUnavailable } from '../../store/contract.ts'
import { createEmbeddedStore } from '../../store/embedded/index.ts'
import type { Ledger, Settle, SettleReply } from '../../store/ledger/contract.ts'
import { Settles } from './settles.ts'
import { testNote } from './testing.ts'

const AWAY = new StoreUnavailable('away')
const FUNDS = 1_000_000_000

let ledger: Ledger
beforeEach(async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] })
  ledger = createEmbeddedStore().ledger
  await ledger.open({ account: 'a', epoch: 1, create: true })
  await ledger.topup({ account: 'a', epoch: 1, id: 'default/first', amount: FUNDS })
})
afterEach(() => vi.useRealTimers())

/** The ledger behind a link that the test cuts; it counts calls, whether they got through or not. */
function cuttable(on: Ledger = ledger) {
  const link = { cut: false, lost: false, calls: 0, atOnce: 0, most: 0 }
  const settle = async (command: Settle): Promise<SettleReply> => {
    link.calls += 1
    link.most = Math.max(link.most, ++link.atOnce)
    await Promise.resolve()
    link.atOnce -= 1
    if (link.cut) throw AWAY
    const reply = await on.settle(command)
    if (link.lost) throw AWAY
    return reply
  }
  return { link, on: { ...on, settle } satisfies Ledger }
}

function settlesOn(on: Ledger) {
  const dead: [id: string, reason: string][] = []
  const failures: unknown[] = []
  const missing: [account: string, missing: boolean][] = []
  const settles = new Settles(on, {
    failed: (error) => void failures.push(error),
    accountMissing: (...reported) => void missing.push(reported),
    dead: ({ id }, reason) => void dead.push([id, reason]),
  })
  onTestFinished(() => settles.stop(0))
  return { settles, dead, failures, missing }
}

const command = (id: string, changes: Partial<Settle> = {}): Settle => ({
  account: 'a',
  id,
  actual: 10,
  reservedAt: Date.now(),
  note: testNote(),
  ...changes,
})
const posted = async () => (await ledger.balance('a'))?.posted

test('a settle that the store takes is over at once', async () => {
  const { settles, dead } = settlesOn(ledger)
  expect(await settles.post(command('r1'))).toBe('LOST')
  expect([await posted(), settles.waiting, dead]).toEqual([FUNDS - 10, 0, []])
})

test('a settle that a ledger in this process has taken is not repeated', async () => {
  const settle = vi.fn(ledger.settle)
  const { settles } = settlesOn({ ...ledger, settle })
  settles.post(command('r2'))
  settles.restored()
  await vi.advanceTimersByTimeAsync(0)
  expect(settle).toHaveBeenCalledTimes(1)
})

test.each([false, true])(
  'a settle that the store does not take waits until it does; answers lost: %s',
  async (lost) => {
    const { link, on } = cuttable()
    const { settles, dead } = settlesOn(on)
    link.cut = !lost
    link.lost = lost
    for (let i = 0; i < 100; i++) expect(await settles.post(command(`r${i}`))).toBeUndefined()
    expect(settles.waiting).toBe(100)
    link.calls = 0
    await vi.advanceTimersByTimeAsync(10_000)
    // While the store is away, one settle calls it, a few times a second.
    expect(link.calls).toBeLessThanOrEqual(40)
    link.cut = false
    link.lost = false
    await vi.advanceTimersByTimeAsync(250)
    expect([settles.waiting, await posted(), dead]).toEqual([0, FUNDS - 1_000, []])
  },
)

test('ten thousand are posted as soon as the store is back, a few at a time', async () => {
  const { link, on } = cuttable()
  const { settles, dead } = settlesOn(on)
  link.cut = true
  for (let i = 0; i < 10_000; i++) await settles.post(command(`r${i}`))
  link.cut = false
  link.most = 0
  settles.restored()
  await vi.advanceTimersByTimeAsync(0)
  expect([settles.waiting, await posted(), dead]).toEqual([0, FUNDS - 100_000, []])
  expect(link.most).toBeLessThanOrEqual(64)
  expect(link.most).toBeGreaterThan(8)
})

test('beyond ten thousand the oldest is given up and reported', async () => {
  const { link, on } = cuttable()
  const { settles, dead } = settlesOn(on)
  link.cut = true
  for (let i = 0; i < 10_002; i++) await settles.post(command(`r${i}`))
  expect([settles.waiting, dead]).toEqual([
    10_000,
    [
      ['r0', 'overflow'],
      ['r1', 'overflow'],
    ],
  ])
})

describe('a reply that leaves the cost uncharged', () => {
  test('a settle waits for an account that is not loaded, and holds up no other', async () => {
    const { link, on } = cuttable()
    const { settles, dead, missing } = settlesOn(on)
    link.cut = true
    await settles.post(command('r1', { account: 'b' }))
    await settles.post(command('r2'))
    link.cut = false
    await vi.advanceTimersByTimeAsync(250)
    expect([settles.waiting, await posted(), dead]).toEqual([1, FUNDS - 10, []])
    expect(missing).toEqual([['b', true]])
    await ledger.open({ account: 'b', epoch: 1, create: true })
    await vi.advanceTimersByTimeAsync(5_500)
    expect(settles.waiting).toBe(0)
    expect((await ledger.balance('b'))?.posted).toBe(-10)
    expect(missing).toEqual([
      ['b', true],
      ['b', false],
    ])
  })

  test('an account that stays away is reported once, and one settle tries it once a minute', async () => {
    const { link, on } = cuttable()
    const { settles, dead, failures, missing } = settlesOn(on)
    for (let i = 0; i < 200; i++) await settles.post(command(`r${i}`, { account: 'b' }))
    await vi.advanceTimersByTimeAsync(300_000)
    link.calls = 0
    await vi.advanceTimersByTimeAsync(600_000)
    expect(link.calls).toBeGreaterThanOrEqual(9)
    expect(link.calls).toBeLessThanOrEqual(11)
    expect([settles.waiting, dead, failures, missing]).toEqual([200, [], [], [['b', true]]])
    // The connection is back, and perhaps the account with it.
    await ledger.open({ account: 'b', epoch: 1, create: true })
    settles.restored()
    await vi.advanceTimersByTimeAsync(1_000)
    expect([settles.waiting, (await ledger.balance('b'))?.posted]).toEqual([0, -2_000])
  })

  test.each(['STALE', 'CONFLICT'] as const)('%s is dead', async (reply) => {
    const { settles, dead } = settlesOn({ ...ledger, settle: async () => ({ reply }) })
    expect(await settles.post(command('r1'))).toBe(reply)
    expect([dead, settles.waiting]).toEqual([[['r1', reply]], 0])
  })

  test('a fault of the gateway is given up and not repeated', async () => {
    const settle = vi.fn(() => Promise.reject(new RangeError('a fault')))
    const { settles, dead } = settlesOn({ ...ledger, settle })
    expect(await settles.post(command('r1'))).toBeUndefined()
    await vi.advanceTimersByTimeAsync(10_000)
    expect([dead, settle.mock.calls.length]).toEqual([[['r1', 'failed']], 1])
  })
})

describe('a store that is back', () => {
  test('gets again what it may have lost; a settle that it still has changes nothing', async () => {
    const { link, on } = cuttable()
    const { settles, dead } = settlesOn(on)
    await settles.post(command('r1'))
    await vi.advanceTimersByTimeAsync(61_000)
    await settles.post(command('r2'))
    // However long the store was away, only the settles before the outage matter.
    await vi.advanceTimersByTimeAsync(480_000)
    link.calls = 0
    settles.restored()
    await vi.advanceTimersByTimeAsync(0)
    // The first one was acknowledged more than a minute before the last one.
    expect([link.calls, await posted(), dead]).toEqual([1, FUNDS - 20, []])
    await vi.advanceTimersByTimeAsync(180_000)
    link.calls = 0
    settles.restored()
    await vi.advanceTimersByTimeAsync(10_000)
    // Long enough ago for the ledger to have forgotten it.
    expect(link.calls).toBe(0)
  })

  test('but does not work yet gets them when it does', async () => {
    const { link, on } = cuttable({ ...ledger, settle: (settle) => ledger.settle(settle) })
    const { settles, dead } = settlesOn(on)
    for (let i = 0; i < 100; i++) await settles.post(command(`r${i}`))
    // An older replica takes over.
    const older = createEmbeddedStore().ledger
    await older.open({ account: 'a', epoch: 1, create: true })
    ledger = older
    link.cut = true
    link.calls = 0
    settles.restored()
    await vi.advanceTimersByTimeAsync(5_000)
    // While the store is away, one settle calls it, a few times a second.
    expect(link.calls).toBeGreaterThan(10)
    expect(link.calls).toBeLessThanOrEqual(21)
    link.cut = false
    await vi.advanceTimersByTimeAsync(1_000)
    expect([await posted(), dead]).toEqual([-1_000, []])
    link.calls = 0
    await vi.advanceTimersByTimeAsync(10_000)
    expect(link.calls).toBe(0)
  })

  test('in part gets the settles that this part takes, and the rest later', async () => {
    const takes = new Set(['a', 'b'])
    const settle = vi.fn(async ({ account }: Settle): Promise<SettleReply> => {
      if (!takes.has(account)) throw AWAY
      return { reply: 'DUP' }
    })
    const { settles, dead } = settlesOn({ ...ledger, settle })
    for (let i = 0; i < 20; i++) await settles.post(command(`r${i}`, { account: i % 2 === 0 ? 'b' : 'a' }))
    takes.delete('b')
    settle.mockClear()
    settles.restored()
    await vi.advanceTimersByTimeAsync(5_000)
    const repeated = (account: string) => {
      const ids = settle.mock.calls.filter(([sent]) => sent.account === account).map(([{ id }]) => id)
      return new Set(ids).size
    }
    expect(repeated('a')).toBe(10)
    settle.mockClear()
    takes.add('b')
    await vi.advanceTimersByTimeAsync(5_000)
    expect([repeated('a'), repeated('b'), dead]).toEqual([0, 10, []])
  })

  test('and goes away during the repetition gets all of them once more', async () => {
    const answer = Promise.withResolvers<void>()
    const settle = vi.fn(async (): Promise<SettleReply> => ({ reply: 'DUP' }))
    const { settles } = settlesOn({ ...ledger, settle })
    for (const id of ['r1', 'r2']) await settles.post(command(id))
    settle.mockClear()
    settle.mockImplementationOnce(async () => {
      await answer.promise
      return { reply: 'DUP' }
    })
    settles.restored()
    await vi.advanceTimersByTimeAsync(0)
    settles.restored()
    answer.resolve()
    await vi.advanceTimersByTimeAsync(1_000)
    expect(settle.mock.calls.length).toBeGreaterThanOrEqual(3)
  })

  test('and had lost a settle gets it posted', async () => {
    const { settles, dead } = settlesOn({ ...ledger, settle: async (settle) => ledger.settle(settle) })
    await settles.post(command('r1'))
    // An older replica takes over.
    const older = createEmbeddedStore().ledger
    await older.open({ account: 'a', epoch: 1, create: true })
    ledger = older
    settles.restored()
    await vi.advanceTimersByTimeAsync(0)
    expect([await posted(), dead]).toEqual([-10, []])
  })

  test('repeats a settle with the entry of its first reply', async () => {
    const sent: (string | undefined)[] = []
    const settle = async (settled: Settle): Promise<SettleReply> => {
      sent.push(settled.postedAs)
      return sent.length === 1 ? { reply: 'OK', entry: '17-3' } : { reply: 'DUP' }
    }
    const { settles } = settlesOn({ ...ledger, settle })
    await settles.post(command('r1'))
    settles.restored()
    await vi.advanceTimersByTimeAsync(0)
    expect(sent).toEqual([undefined, '17-3'])
  })

  test('repeats a settle whose first reply was lost with its entry all the same', async () => {
    const { link, on } = cuttable()
    const sent: (string | undefined)[] = []
    const settle = (settled: Settle) => {
      sent.push(settled.postedAs)
      return on.settle(settled)
    }
    const { settles } = settlesOn({ ...on, settle })
    link.lost = true
    await settles.post(command('r1'))
    link.lost = false
    await vi.advanceTimersByTimeAsync(300)
    const [, entry] = await ledger.entries('a', undefined, 9)
    settles.restored()
    await vi.advanceTimersByTimeAsync(0)
    expect(sent).toEqual([undefined, undefined, entry?.id])
  })

  test('repeats it with the newest entry if the first one was lost', async () => {
    const sent: (string | undefined)[] = []
    const settle = async (settled: Settle): Promise<SettleReply> => {
      sent.push(settled.postedAs)
      return { reply: 'LOST', entry: `${sent.length}-0` }
    }
    const { settles } = settlesOn({ ...ledger, settle })
    await settles.post(command('r1'))
    for (let i = 0; i < 2; i++) {
      settles.restored()
      await vi.advanceTimersByTimeAsync(0)
    }
    expect(sent).toEqual([undefined, '1-0', '2-0'])
  })

  test('without an account gets its settles when the account is back, however many', async () => {
    const many = 20_000
    const emptied = createEmbeddedStore().ledger
    const { settles, dead } = settlesOn({ ...ledger, settle: async (settle) => ledger.settle(settle) })
    for (let i = 0; i < many; i++) await settles.post(command(`r${i}`))
    ledger = emptied
    settles.restored()
    await vi.advanceTimersByTimeAsync(1_000)
    await emptied.open({ account: 'a', epoch: 2, create: true })
    await vi.advanceTimersByTimeAsync(6_000)
    expect([await posted(), dead]).toEqual([-10 * many, []])
  })

  test('never gets its account again: the costs are reported at last', async () => {
    const { settles, dead } = settlesOn({ ...ledger, settle: async (settle) => ledger.settle(settle) })
    await settles.post(command('r1'))
    ledger = createEmbeddedStore().ledger
    settles.restored()
    await vi.advanceTimersByTimeAsync(590_000)
    expect(dead).toEqual([])
    await vi.advanceTimersByTimeAsync(80_000)
    expect(dead).toEqual([['r1', 'STALE']])
  })

  test('has another cost for an id: the settle is not posted anew', async () => {
    const replies: SettleReply[] = [{ reply: 'OK', entry: '1-0' }, { reply: 'CONFLICT' }]
    const { settles, dead } = settlesOn({
      ...ledger,
      settle: async () => replies.shift() ?? { reply: 'STALE' },
    })
    await settles.post(command('r1'))
    settles.restored()
    await vi.advanceTimersByTimeAsync(0)
    expect([settles.waiting, dead]).toEqual([0, []])
    settles.restored()
    await vi.advanceTimersByTimeAsync(0)
    expect(dead).toEqual([['r1', 'STALE']])
  })
})

describe('the end of the process', () => {
  test('waits for settles that the store takes in time', async () => {
    const { link, on } = cuttable()
    const { settles, dead } = settlesOn(on)
    link.cut = true
    await settles.post(command('r1'))
    const stopped = settles.stop(10_000)
    await vi.advanceTimersByTimeAsync(3_000)
    link.cut = false
    await vi.advanceTimersByTimeAsync(1_000)
    await stopped
    expect([settles.waiting, await posted(), dead]).toEqual([0, FUNDS - 10, []])
  })

  test('does not report a settle as lost that is being posted when the time is over', async () => {
    const answer = Promise.withResolvers<void>()
    const { link, on } = cuttable()
    const settle = vi.fn(on.settle)
    const { settles, dead } = settlesOn({ ...on, settle })
    link.cut = true
    await settles.post(command('r1'))
    link.cut = false
    settle.mockImplementationOnce(async (command) => {
      await answer.promise
      return ledger.settle(command)
    })
    await vi.advanceTimersByTimeAsync(300)
    const stopped = settles.stop(0)
    answer.resolve()
    await stopped
    expect([await posted(), dead]).toEqual([FUNDS - 10, []])
  })

  test('logs the rest', async () => {
    const { link, on } = cuttable()
    const { settles, dead } = settlesOn(on)
    link.cut = true
    await settles.post(command('r1'))
    const stopped = settles.stop(1_000)
    await vi.advanceTimersByTimeAsync(1_500)
    await stopped
    await settles.post(command('r2'))
    expect([settles.waiting, dead]).toEqual([
      0,
      [
        ['r1', 'stopped'],
        ['r2', 'stopped'],
      ],
    ])
  })
})
