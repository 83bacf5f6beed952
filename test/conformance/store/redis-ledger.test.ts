/** The ledger in a real Redis: the suite that every store runs, and faults that only Redis can have. */
import { spawn } from 'node:child_process'
import fc from 'fast-check'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { z } from 'zod'
import { StoreUnavailable } from '../../../store/contract.ts'
import { ENTRIES_KEPT } from '../../../store/ledger/state.ts'
import { KEEP_MS } from '../../../store/ledger/transition.ts'
import { until } from '../../harness/gateway.ts'
import { remoteRuns } from '../../harness/property-runs.ts'
import {
  ACCOUNT,
  fund,
  hold,
  LEASE_MS,
  NOTE,
  OTHER,
  renewal,
  reservation,
  SUB,
  settlement,
} from './fixtures.ts'
import { holdCases } from './hold-cases.ts'
import { ledgerCases } from './ledger-cases.ts'
import { ledgerProperty } from './ledger-property.ts'
import { type RedisLedgers, startRedisLedgers } from './redis-ledger.ts'
import type { StoreUnderTest } from './suite.ts'

// FC_RUNS raises this.
const numRuns = remoteRuns(60)

let redis: RedisLedgers
let current: StoreUnderTest
beforeAll(async () => {
  redis = await startRedisLedgers()
})
afterAll(() => redis.stop())
beforeEach(async () => {
  current = await redis.create()
})
afterEach(() => current.dispose())

const ledger = () => current.store.ledger
const keyOf = (name: string, account = ACCOUNT) => `sluice:{${account}}:${name}`

describe('ledger', () => ledgerCases(() => current))
describe('holds', () => holdCases(() => current))

test('answers any work as the model does, and its sums add up', async () => {
  await fc.assert(ledgerProperty(redis.create, new Map()), { numRuns })
}, 300_000)

test('texts of any bytes are read back unchanged, even next to the separators of stored records', async () => {
  const texts = ['a|b|c', 'line\nfeed', '\u0000', '"quoted"', '%.0f', 'c:p', 'ü€😀', '-inf', '(5', '']
  await fund(ledger(), ACCOUNT, 1_000)
  for (const text of texts) {
    const about = { model: text, key: NOTE.key }
    expect(await ledger().topup({ account: ACCOUNT, id: text, amount: 1 })).toBe('OK')
    expect(await ledger().topup({ account: ACCOUNT, id: text, amount: 1 })).toBe('DUP')
    const at = await hold(ledger(), reservation(`settled ${text}`, 5, { about }))
    const note = { ...NOTE, model: text, channel: text, key: text, tokens: { [text]: 1 } }
    expect(await ledger().settle(settlement(`settled ${text}`, 3, at, { note }))).toBe('OK')
    await hold(ledger(), reservation(`expired ${text}`, 5, { about }))
    await ledger().renew(renewal(`expired ${text}`, { seen: 2 }))
    await current.advance(LEASE_MS)
    expect(await ledger().reap(ACCOUNT, 10)).toEqual([
      { account: ACCOUNT, id: `expired ${text}`, charged: 2 },
    ])
    expect((await ledger().entries(ACCOUNT, undefined, 100)).slice(-3)).toMatchObject([
      { kind: 'credit', ref: text, delta: 1 },
      { kind: 'settle', ref: `settled ${text}`, delta: -3, note },
      { kind: 'expire', ref: `expired ${text}`, delta: -2, note: { model: text, key: NOTE.key, tokens: {} } },
    ])
  }
  expect(await ledger().balance(ACCOUNT)).toEqual({ posted: 1_000 - 4 * texts.length, held: 0, subs: {} })
})

test('amounts of sixteen digits are stored exactly, and zero without a sign', async () => {
  const most = Number.MAX_SAFE_INTEGER
  await fund(ledger(), ACCOUNT, most)
  const at = await hold(ledger(), reservation('r1', most))
  expect(await redis.server.command('HMGET', keyOf('bal'), 'p', 'h')).toEqual([`${most}`, `${most}`])
  expect(await ledger().settle(settlement('r1', -0, at))).toBe('OK')
  expect(await ledger().topup({ account: ACCOUNT, id: 'default/zero', amount: -0 })).toBe('OK')
  expect(await ledger().topup({ account: ACCOUNT, id: 'default/zero', amount: 0 })).toBe('DUP')
  const other = await hold(ledger(), reservation('r2', most - 1))
  expect(await ledger().settle(settlement('r2', most - 1, other))).toBe('OK')
  expect(await redis.server.command('HMGET', keyOf('bal'), 'p', 'h')).toEqual(['1', '0'])
})

test('scripts touch only the keys of their account', async () => {
  const monitor = spawn('redis-cli', ['-p', `${redis.server.port}`, 'monitor'])
  let seen = ''
  monitor.stdout.on('data', (chunk: Buffer) => {
    seen += chunk.toString()
  })
  try {
    await until(() => seen.startsWith('OK'), 'monitor to begin')
    await fund(ledger(), ACCOUNT, 100)
    await ledger().topup({ account: ACCOUNT, sub: SUB, id: 'default/allow', amount: 50 })
    const at = await hold(ledger(), reservation('r1', 5, { sub: SUB }))
    await hold(ledger(), reservation('r2', 5))
    await ledger().renew(renewal('r1', { seen: 3, amount: 8 }))
    await ledger().renew(renewal('r2', { seen: 1 }))
    await ledger().settle(settlement('r1', 4, at, { sub: SUB }))
    await ledger().settle(settlement('lost', 4, at))
    await current.advance(LEASE_MS)
    await ledger().reap(ACCOUNT, 10)
    await current.advance(KEEP_MS + 1)
    await ledger().reap(ACCOUNT, 10)
    await redis.server.command('ECHO', 'the end')
    await until(() => seen.includes('the end'), 'the end in the monitor')
  } finally {
    monitor.kill()
  }
  const calls = [...seen.matchAll(/^\S+ \[\d+ lua\] "(\w+)"(?: "([^"]*)")?/gm)].map(([, name, key]) => ({
    name,
    key,
  }))
  const touched = calls.filter(({ name }) => name !== 'TIME').map(({ key }) => key)
  expect(new Set(touched)).toEqual(new Set(['bal', 'rsv', 'exp', 'gc', 'led'].map((name) => keyOf(name))))
})

test('without memory nothing is admitted, and admitted holds are renewed, settled and reaped', async () => {
  await fund(ledger(), ACCOUNT, 100)
  const at = await hold(ledger(), reservation('r1', 10))
  await hold(ledger(), reservation('r2', 10))
  await redis.server.command('CONFIG', 'SET', 'maxmemory', 1)
  try {
    await expect(ledger().reserve(reservation('r3', 10))).rejects.toThrow(StoreUnavailable)
    await expect(ledger().topup({ account: ACCOUNT, id: 'default/c1', amount: 5 })).rejects.toThrow(
      StoreUnavailable,
    )
    expect(await ledger().renew(renewal('r1', { seen: 1 }))).toBe('OK')
    expect(await ledger().renew(renewal('r2', { seen: 2 }))).toBe('OK')
    expect(await ledger().settle(settlement('r1', 7, at))).toBe('OK')
    await current.advance(LEASE_MS)
    // Refused before it started: no hold is half expired.
    await expect(ledger().reserve(reservation('r3', 10))).rejects.toThrow(StoreUnavailable)
    expect(await ledger().balance(ACCOUNT)).toEqual({ posted: 93, held: 10, subs: {} })
    expect(await ledger().reap(undefined, 10)).toEqual([{ account: ACCOUNT, id: 'r2', charged: 2 }])
  } finally {
    await redis.server.command('CONFIG', 'SET', 'maxmemory', 0)
  }
  expect(await ledger().balance(ACCOUNT)).toEqual({ posted: 91, held: 0, subs: {} })
  await hold(ledger(), reservation('r3', 91))
})

test('a repeated settle is DUP for as long as it could be mistaken for a lost one', async () => {
  await fund(ledger(), ACCOUNT, 100)
  const at = await hold(ledger(), reservation('r1', 10))
  expect(await ledger().settle(settlement('r1', 10, at))).toBe('OK')
  await current.advance(KEEP_MS)
  expect(await ledger().settle(settlement('r1', 10, at))).toBe('DUP')
  await current.advance(1)
  expect(await ledger().settle(settlement('r1', 10, at))).toBe('STALE')
})

test('a hold leaves nothing but its entry', async () => {
  await fund(ledger(), ACCOUNT, 100)
  const at = await hold(ledger(), reservation('r1', 10))
  await ledger().settle(settlement('r1', 10, at))
  await hold(ledger(), reservation('r2', 10))
  await current.advance(LEASE_MS)
  await ledger().reap(undefined, 10)
  await current.advance(KEEP_MS + 1)
  await ledger().reap(undefined, 10)
  const keys = await redis.server.command('KEYS', `sluice:{${ACCOUNT}}:*`)
  expect(new Set(z.array(z.string()).parse(keys))).toEqual(new Set([keyOf('bal'), keyOf('led')]))
})

test('a lease without its hold, as after a manual repair, blocks nothing', async () => {
  await fund(ledger(), ACCOUNT, 100)
  await hold(ledger(), reservation('r1', 10))
  await redis.server.command('ZADD', keyOf('exp'), 1, 'removed')
  await current.advance(LEASE_MS)
  expect(await ledger().reap(ACCOUNT, 10)).toEqual([{ account: ACCOUNT, id: 'r1', charged: 0 }])
})

test('the newest entries are kept, and ids keep rising', async () => {
  await ledger().open(ACCOUNT)
  const count = ENTRIES_KEPT + 500
  for (let done = 0; done < count; done += 500)
    await Promise.all(
      Array.from({ length: 500 }, (_, i) =>
        ledger().topup({ account: ACCOUNT, id: `c${done + i}`, amount: 1 }),
      ),
    )
  const kept = await ledger().entries(ACCOUNT, undefined, count)
  expect(kept.length).toBeGreaterThanOrEqual(ENTRIES_KEPT)
  expect(kept.length).toBeLessThan(count)
  expect(kept.at(-1)?.ref).toBe(`c${count - 1}`)
  expect(await ledger().entries(ACCOUNT, kept.at(-3)?.id, 10)).toEqual(kept.slice(-2))
  expect(await ledger().entries(ACCOUNT, undefined, 0)).toEqual([])
})

test('a reap of all reaches accounts that each hold more than their share', async () => {
  for (const account of [ACCOUNT, OTHER]) await fund(ledger(), account, 1_000)
  for (let i = 0; i < 70; i++) await hold(ledger(), reservation(`r${i}`, 1, { leaseMs: 1_000 }))
  for (let i = 0; i < 3; i++)
    await hold(ledger(), reservation(`r${i}`, 1, { account: OTHER, leaseMs: 1_000 }))
  await current.advance(1_000)
  expect(await ledger().reap(undefined, 72)).toHaveLength(72)
  expect(await ledger().reap(undefined, 72)).toHaveLength(1)
})
