/** The ledger in Redis compared with the one in memory: the same work, also at the edge of the safe integers. */
import fc from 'fast-check'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { Ledger } from '../../../store/ledger/contract.ts'
import { KEEP_MS } from '../../../store/ledger/transition.ts'
import { remoteRuns } from '../../harness/property-runs.ts'
import { createEmbedded } from './embedded.ts'
import { ACCOUNT, hold, LEASE_MS, NOTE, reservation } from './fixtures.ts'
import { type Call, perform, type Reply } from './ledger-model.ts'
import { type RedisLedgers, startRedisLedgers } from './redis-ledger.ts'
import type { StoreUnderTest } from './suite.ts'

// FC_RUNS raises this.
const numRuns = remoteRuns(100)
const MOST = Number.MAX_SAFE_INTEGER

let redis: RedisLedgers
beforeAll(async () => {
  redis = await startRedisLedgers()
})
afterAll(() => redis.stop())

/** A call on a store whose clock started at `start`, after `waitMs`. */
interface Step {
  waitMs: number
  call(start: number): Call
}

const account = fc.constantFrom('first', 'first', 'first', 'second', 'unknown')
const sub = fc.constantFrom(undefined, undefined, 's-1', '2')
const id = fc.constantFrom('r1', 'r2', 'r3', 'r4', 'r5')
const amount = fc.oneof(
  fc.nat(20),
  fc.constantFrom(0, 1, 2 ** 52 - 1, 2 ** 52, 2 ** 52 + 1, MOST - 20, MOST - 1, MOST, 10 ** 15),
)
const waitMs = fc.constantFrom(
  0,
  0,
  0,
  0,
  1,
  999,
  LEASE_MS - 1,
  LEASE_MS,
  KEEP_MS - LEASE_MS,
  KEEP_MS,
  KEEP_MS + 1,
)
const leaseMs = fc.constantFrom(0, 1_000, LEASE_MS)
const limits = {
  enforced: fc.boolean(),
  overdraft: amount,
  subOverdraft: fc.option(amount, { nil: undefined }),
  leaseMs,
}
const text = fc.oneof(fc.string(), fc.string({ unit: 'binary' }), fc.constantFrom('', 'a|b', '-', '0'))
const note = fc.record({
  reason: fc.constantFrom(
    'usage' as const,
    'estimate' as const,
    'input_only' as const,
    'checkpoint' as const,
  ),
  model: text,
  channel: text,
  key: fc.constant(NOTE.key),
  tokens: fc.dictionary(fc.constantFrom('input', 'output', 'images'), fc.nat()),
})

const topup = fc
  .record({
    account,
    sub,
    id: fc.constantFrom('c1', 'c2', 'c3', 'c4', 'c5', 'c6'),
    amount,
    negative: fc.boolean(),
  })
  .map(({ negative, amount, ...rest }) => () => ({
    type: 'topup' as const,
    command: { ...rest, amount: negative ? -amount : amount },
  }))
const reserve = fc
  .record({
    account,
    sub,
    id,
    amount,
    ...limits,
    about: fc.record({ model: text, key: fc.constant(NOTE.key) }),
  })
  .map((command) => () => ({ type: 'reserve' as const, command }))
const renew = fc
  .record({ account, id, seen: amount, amount, ...limits })
  .map((command) => () => ({ type: 'renew' as const, command }))
const settle = fc
  .record({ account, sub, id, actual: amount, since: fc.integer({ min: -KEEP_MS, max: 3 * KEEP_MS }), note })
  .map(({ since, ...rest }) => (start: number) => ({
    type: 'settle' as const,
    command: { ...rest, reservedAt: start + since },
  }))
const reap = fc
  .oneof(
    fc.record({ account, max: fc.constantFrom(0, 1, 100) }),
    fc.constant({ account: undefined, max: 100 }),
  )
  .map((given) => () => ({ type: 'reap' as const, ...given }))

const steps: fc.Arbitrary<Step[]> = fc.array(
  fc.record({
    waitMs,
    call: fc.oneof(
      { weight: 3, arbitrary: topup },
      { weight: 5, arbitrary: reserve },
      { weight: 3, arbitrary: renew },
      { weight: 4, arbitrary: settle },
      { weight: 1, arbitrary: reap },
    ),
  }),
  { minLength: 1, maxLength: 40, size: 'max' },
)

/** A hold that expires and is settled later: not every random run has one. */
const tooLate: Step[] = [
  {
    waitMs: 0,
    call: () => ({ type: 'topup', command: { account: 'first', sub: undefined, id: 'c1', amount: 20 } }),
  },
  {
    waitMs: 0,
    call: () => ({
      type: 'reserve',
      command: {
        account: 'first',
        sub: undefined,
        id: 'r1',
        amount: 5,
        enforced: true,
        overdraft: 0,
        subOverdraft: undefined,
        leaseMs: LEASE_MS,
        about: { model: 'm', key: NOTE.key },
      },
    }),
  },
  { waitMs: LEASE_MS, call: () => ({ type: 'reap', account: 'first', max: 100 }) },
  {
    waitMs: 0,
    call: (start) => ({
      type: 'settle',
      command: { account: 'first', sub: undefined, id: 'r1', actual: 3, reservedAt: start, note: NOTE },
    }),
  },
]

test('the same work gives the same replies, balances and entries in both', async () => {
  const names = new Set<string>()
  const property = fc.asyncProperty(steps, async (work) => {
    const [ours, reference] = [
      await done(await redis.create(), work),
      await done(await createEmbedded(), work),
    ]
    expect(ours).toStrictEqual(reference)
    for (const reply of reference.replies) names.add(nameOf(reply))
  })
  await fc.assert(property, { numRuns, examples: [[tooLate]] })
  // Work that achieves nothing would be the same in any two.
  expect([...names]).toEqual(
    expect.arrayContaining(['OK', 'DUP', 'CONFLICT', 'LIMIT', 'NOFUNDS', 'GONE', 'UNKNOWN']),
  )
  expect([...names]).toEqual(expect.arrayContaining(['LATE', 'LOST', 'STALE', 'NOACCT', 'reaped']))
}, 300_000)

/** The results of the work, with times counted from the store's first. */
async function done({ store: { ledger }, advance, dispose }: StoreUnderTest, work: readonly Step[]) {
  try {
    const start = await firstTime(ledger)
    await ledger.open('first')
    await ledger.open('second')
    const replies: Reply[] = []
    for (const { waitMs, call } of work) {
      if (waitMs > 0) await advance(waitMs)
      const reply = await perform(ledger, call(start))
      replies.push(comparable(reply, start))
    }
    const accounts = await Promise.all(
      ['first', 'second', 'unknown'].map(async (name) => ({
        balance: await ledger.balance(name),
        entries: (await ledger.entries(name, undefined, 1_000)).map(({ id: _, ...entry }) => entry),
      })),
    )
    return { replies, accounts }
  } finally {
    await dispose()
  }
}

async function firstTime(ledger: Ledger): Promise<number> {
  await ledger.open(ACCOUNT)
  return hold(ledger, reservation('r', 0, { enforced: false, leaseMs: 0 }))
}

/** Without legitimate differences: the start time, and the order of accounts in a reap of all. */
function comparable(reply: Reply, start: number): Reply {
  if (typeof reply === 'string') return reply
  if (Array.isArray(reply)) return reply.toSorted((a, b) => a.account.localeCompare(b.account))
  return 'reservedAt' in reply ? { ...reply, reservedAt: reply.reservedAt - start } : reply
}

function nameOf(reply: Reply): string {
  if (Array.isArray(reply)) return reply.length === 0 ? 'nothing' : 'reaped'
  return typeof reply === 'string' ? reply : reply.reply
}
