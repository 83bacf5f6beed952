/** The ledger in a real Redis: the suite that every store runs, and faults that only Redis can have. */
import { spawn } from 'node:child_process'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { z } from 'zod'
import { StoreUnavailable } from '../../../store/contract.ts'
import { EXPIRED_KEEP_MS } from '../../../store/ledger/expiry.ts'
import { KEEP_MS } from '../../../store/ledger/tombstones.ts'
import { DAY_MS, PART_DAYS } from '../../../store/ledger/usage.ts'
import { createRedisConnection } from '../../../store/redis/connection.ts'
import { createRedisLedger } from '../../../store/redis/ledger.ts'
import { until } from '../../harness/gateway.ts'
import { ledgerRuns, remoteRuns } from '../../harness/property-runs.ts'
import {
  ACCOUNT,
  EPOCH,
  fund,
  hold,
  LEASE_MS,
  NOTE,
  renew,
  reservation,
  SUB,
  settle,
  settlement,
  sumsOf,
  topup,
} from './fixtures.ts'
import { holdCases } from './hold-cases.ts'
import { ledgerCases } from './ledger-cases.ts'
import { checkLedger } from './ledger-property.ts'
import { type RedisLedgers, startRedisLedgers } from './redis-ledger.ts'
import type { StoreUnderTest } from './under-test.ts'

// FC_RUNS raises this.
const { numRuns, timeLimitMs } = ledgerRuns(remoteRuns(60))

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

const silent = { info: () => {}, warn: () => {}, error: () => {} }
const ledger = () => current.store.ledger
const keyOf = (name: string, account = ACCOUNT) => `sluice:{${account}}:${name}`
const keysOf = async () =>
  new Set(z.array(z.string()).parse(await redis.server.command('KEYS', `sluice:{${ACCOUNT}}:*`)))
const command = (name: string, ...args: (string | number)[]) => redis.server.command(name, ...args)

describe('ledger', () => ledgerCases(() => current))
describe('holds', () => holdCases(() => current))

test(
  'answers any work as the model does, and its sums add up',
  async () => {
    await checkLedger(redis.create, numRuns)
  },
  timeLimitMs,
)

test('texts of any bytes are read back unchanged, even next to the separators of stored records', async () => {
  const texts = ['a|b|c', 'line\nfeed', '\u0000', '"quoted"', '%.0f', 'c:p', 'ü€😀', '-inf', '(5', '']
  await fund(ledger(), ACCOUNT, 1_000)
  for (const text of texts) {
    const note = {
      ...NOTE,
      model: text,
      channel: text,
      key: text,
      tier: text,
      tokens: { [text]: 1 },
      flags: [text],
    }
    const checkpoint = { ...note, reason: 'checkpoint' as const }
    expect(await topup(ledger(), text, 1)).toBe('OK')
    expect(await topup(ledger(), text, 1)).toBe('DUP')
    const at = await hold(ledger(), reservation(`settled ${text}`, 5, { note: checkpoint }))
    expect(await settle(ledger(), `settled ${text}`, 3, at, { note })).toBe('OK')
    await hold(ledger(), reservation(`expired ${text}`, 5, { note: checkpoint, seen: 2 }))
    await current.advance(LEASE_MS)
    expect(await ledger().reap(ACCOUNT, 10)).toEqual([
      { account: ACCOUNT, id: `expired ${text}`, charged: 2 },
    ])
    expect((await ledger().entries(ACCOUNT, undefined, 100)).slice(-3)).toMatchObject([
      { kind: 'credit', ref: text, delta: 1 },
      { kind: 'settle', ref: `settled ${text}`, delta: -3, note },
      { kind: 'expire', ref: `expired ${text}`, delta: -2, note: checkpoint },
    ])
  }
  expect(await sumsOf(ledger())).toEqual([1_000 - 4 * texts.length, 0])
})

test('amounts of sixteen digits are stored exactly, and zero without a sign', async () => {
  const most = Number.MAX_SAFE_INTEGER
  await fund(ledger(), ACCOUNT, most)
  const at = await hold(ledger(), reservation('r1', most))
  expect(await command('HMGET', keyOf('bal'), 'p', 'h', 'cr')).toEqual([`${most}`, `${most}`, `${most}`])
  expect(await settle(ledger(), 'r1', -0, at)).toBe('OK')
  expect(await topup(ledger(), 'default/zero', -0)).toBe('OK')
  expect(await topup(ledger(), 'default/zero', 0)).toBe('DUP')
  const other = await hold(ledger(), reservation('r2', most - 1, { seen: -0 }))
  expect(await settle(ledger(), 'r2', most - 1, other)).toBe('OK')
  expect(await command('HMGET', keyOf('bal'), 'p', 'h')).toEqual(['1', '0'])
  for (const amount of [1e15, 1e15 + 1]) {
    const again = await hold(ledger(), reservation(`r${amount}`, amount, { enforced: false }))
    expect(await command('HGET', keyOf('bal'), 'h')).toBe(String(amount))
    await settle(ledger(), `r${amount}`, 0, again)
  }
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
    await topup(ledger(), 'default/allow', 50, { sub: SUB })
    const at = await hold(ledger(), reservation('r1', 5, { sub: SUB }))
    await hold(ledger(), reservation('r2', 5))
    await renew(ledger(), 'r1', { seen: 3, amount: 8 })
    await renew(ledger(), 'r2', { seen: 1 })
    await settle(ledger(), 'r1', 4, at, { sub: SUB })
    await settle(ledger(), 'lost', 4, at)
    const changes = [{ credited: 1, spent: 0 }]
    await ledger().adjust({ account: ACCOUNT, epoch: EPOCH, id: 'a', reason: 'operator', changes })
    await current.advance(LEASE_MS)
    await ledger().reap(ACCOUNT, 10)
    await current.advance(EXPIRED_KEEP_MS)
    await ledger().reap(ACCOUNT, 10)
    const late = await hold(ledger(), reservation('r3', 5))
    for (const _ of [1, 2, 3]) {
      await current.advance(KEEP_MS)
      await settle(ledger(), `r${Math.random()}`, 1, late + 3 * KEEP_MS)
    }
    await ledger().trim(ACCOUNT, '1-1', 0)
    await command('ECHO', 'the end')
    await until(() => seen.includes('the end'), 'the end in the monitor')
  } finally {
    monitor.kill()
  }
  const calls = [...seen.matchAll(/^\S+ \[\d+ lua\] "(\w+)"(?: "([^"]*)")?/gm)].map(([, name, key]) => ({
    name,
    key,
  }))
  const touched = calls.filter(({ name }) => name !== 'TIME').map(({ key }) => key)
  const names = ['bal', 'crd', 'rsv', 'exp', 'gc', 'led', 'tmb:0', 'tmb:1', 'tmb:2']
  expect(new Set(touched)).toEqual(new Set(names.map((name) => keyOf(name))))
})

test('without memory nothing is admitted, and admitted holds are renewed, settled and reaped', async () => {
  await fund(ledger(), ACCOUNT, 100)
  const at = await hold(ledger(), reservation('r1', 10))
  await hold(ledger(), reservation('r2', 10))
  await command('CONFIG', 'SET', 'maxmemory', 1)
  try {
    await expect(ledger().reserve(reservation('r3', 10))).rejects.toThrow(StoreUnavailable)
    await expect(topup(ledger(), 'default/c1', 5)).rejects.toThrow(StoreUnavailable)
    expect(await renew(ledger(), 'r1', { seen: 1 })).toBe('OK')
    expect(await renew(ledger(), 'r2', { seen: 2 })).toBe('OK')
    expect(await settle(ledger(), 'r1', 7, at)).toBe('OK')
    await ledger().touch([ACCOUNT])
    await current.advance(LEASE_MS)
    // Refused before it started: no hold is half expired.
    await expect(ledger().reserve(reservation('r3', 10))).rejects.toThrow(StoreUnavailable)
    expect(await sumsOf(ledger())).toEqual([93, 10])
    expect(await ledger().reap(ACCOUNT, 10)).toEqual([{ account: ACCOUNT, id: 'r2', charged: 2 }])
    const changes = [{ credited: 0, spent: 1 }]
    const correction = { account: ACCOUNT, epoch: EPOCH, id: 'a', reason: 'restore' as const, changes }
    expect(await ledger().adjust(correction)).toBe('OK')
  } finally {
    await command('CONFIG', 'SET', 'maxmemory', 0)
  }
  expect(await sumsOf(ledger())).toEqual([90, 0])
  await hold(ledger(), reservation('r3', 90))
})

const withoutTombstones = new Set(['bal', 'crd', 'led'].map((name) => keyOf(name)))

test('a settled hold leaves nothing but its entry after half an hour', async () => {
  await fund(ledger(), ACCOUNT, 100)
  const at = await hold(ledger(), reservation('r1', 10))
  await settle(ledger(), 'r1', 10, at)
  expect((await keysOf()).size).toBe(4)
  await current.advance(2 * KEEP_MS - 1)
  await ledger().reap(ACCOUNT, 10)
  expect((await keysOf()).size).toBe(4)
  await current.advance(1)
  await ledger().reap(ACCOUNT, 10)
  expect(await keysOf()).toEqual(withoutTombstones)
})

test('without a leader a settled hold leaves nothing but its entry after an hour', async () => {
  await fund(ledger(), ACCOUNT, 100)
  const at = await hold(ledger(), reservation('r1', 10))
  await settle(ledger(), 'r1', 10, at)
  await current.advance(4 * KEEP_MS + 1)
  await until(async () => (await keysOf()).size === 3, 'the tombstones to expire')
  expect(await keysOf()).toEqual(withoutTombstones)
})

test('the settled requests of a quarter of an hour are freed in the background', async () => {
  const freed = async () =>
    Number(/lazyfreed_objects:(\d+)/.exec(String(await command('INFO', 'memory')))?.[1])
  // Redis frees a small key at once.
  const settleMany = async (name: string) => {
    for (let n = 0; n < 600; n++) {
      const at = await hold(ledger(), reservation(`${name}${n}`, 1))
      await settle(ledger(), `${name}${n}`, 1, at)
    }
  }
  await fund(ledger(), ACCOUNT, 2_000)
  const before = await freed()
  await settleMany('a')
  await current.advance(KEEP_MS)
  await settleMany('b')
  await current.advance(KEEP_MS)
  const at = await hold(ledger(), reservation('next', 1))
  await settle(ledger(), 'next', 1, at)
  await until(
    async () => (await freed()) === before + 1,
    'the first bucket to be freed when the third begins',
  )
  await current.advance(2 * KEEP_MS)
  await ledger().reap(ACCOUNT, 10)
  await until(async () => (await freed()) === before + 2, 'the second bucket to be freed by a leader')
})

test('a bucket of settled requests begins empty, even if its key was used just before', async () => {
  await fund(ledger(), ACCOUNT, 100)
  await current.advance(KEEP_MS - 2)
  const at = await hold(ledger(), reservation('last', 10))
  await settle(ledger(), 'last', 10, at)
  await current.advance(2 * KEEP_MS + 3)
  const later = await hold(ledger(), reservation('first', 10))
  await settle(ledger(), 'first', 10, later)
  const sizes = await Promise.all([0, 1, 2].map((n) => command('HLEN', keyOf(`tmb:${n}`))))
  expect(sizes.sort()).toEqual([0, 0, 1])
})

test('an expired hold leaves nothing but its entry after a day', async () => {
  await fund(ledger(), ACCOUNT, 100)
  await hold(ledger(), reservation('r1', 10))
  await current.advance(LEASE_MS)
  await ledger().reap(ACCOUNT, 10)
  expect(await keysOf()).toEqual(new Set(['bal', 'crd', 'led', 'rsv', 'gc'].map((name) => keyOf(name))))
  await current.advance(EXPIRED_KEEP_MS)
  await ledger().reap(ACCOUNT, 10)
  expect(await keysOf()).toEqual(new Set(['bal', 'crd', 'led'].map((name) => keyOf(name))))
})

test('five thousand holds that end together are expired in parts, and nothing is held after', async () => {
  await fund(ledger(), ACCOUNT, 1_000_000)
  for (let i = 0; i < 5_000; i += 500)
    await Promise.all(
      Array.from({ length: 500 }, (_, n) => hold(ledger(), reservation(`r${i + n}`, 3, { seen: 1 }))),
    )
  await current.advance(LEASE_MS)
  await hold(ledger(), reservation('next', 5))
  expect(await sumsOf(ledger())).toEqual([1_000_000 - 20, 3 * 4_980 + 5])
  let reaped = 0
  for (let n = -1; n !== 0; reaped += n) n = (await ledger().reap(ACCOUNT, 1_000)).length
  expect(reaped).toBe(4_980)
  expect(await sumsOf(ledger())).toEqual([995_000, 5])
})

test('limits are counted by the commands that hold and settle anyway', async () => {
  await fund(ledger(), ACCOUNT, 100)
  const of = { most: 1_000, windowMs: 60_000 }
  const meters = [
    { ...of, id: 'k/rm', takes: 1 },
    { ...of, id: 'k/tm', takes: 50 },
    { ...of, id: 'k/c', windowMs: 0, takes: 1 },
  ]
  const cost = async (id: string, limited: boolean) => {
    await command('CONFIG', 'RESETSTAT')
    const at = await hold(ledger(), reservation(id, 5, limited ? { meters } : {}))
    const corrections = limited ? [{ ...of, id: 'k/tm', by: -20 }] : []
    expect((await ledger().settle(settlement(id, 5, at, { corrections }))).reply).toBe('OK')
    const stats = String(await command('INFO', 'commandstats'))
    const calls = [...stats.matchAll(/cmdstat_(\w+):calls=(\d+)/g)]
    return Object.fromEntries(calls.map(([, name = '', count]) => [name, Number(count)]))
  }
  await cost('warm up', true)
  const { time: _, ...without } = await cost('r1', false)
  const { time: __, ...limited } = await cost('r2', true)
  expect(limited).toEqual(without)
})

test('an account with 20,000 credits is read and charged by as many commands as one without', async () => {
  await fund(ledger(), ACCOUNT, 100)
  const calls = async () => {
    const stats = String(await command('INFO', 'commandstats'))
    return [...stats.matchAll(/cmdstat_(\w+):calls=(\d+)/g)].map(([, name, count]) => [name, Number(count)])
  }
  const cost = async (id: string) => {
    await command('CONFIG', 'RESETSTAT')
    const at = await hold(ledger(), reservation(id, 5))
    await renew(ledger(), id, { seen: 1 })
    await settle(ledger(), id, 5, at)
    await topup(ledger(), `default/${id}`, 5)
    await ledger().balance(ACCOUNT)
    return Object.fromEntries((await calls()).filter(([name]) => name !== 'config|resetstat'))
  }
  await cost('warm up')
  const few = await cost('r1')
  for (let i = 0; i < 20_000; i += 1_000)
    await Promise.all(Array.from({ length: 1_000 }, (_, n) => topup(ledger(), `default/c${i + n}`, 1)))
  expect(await cost('r2')).toEqual(few)
  expect(Object.keys(few).some((name) => /hgetall|hkeys|hvals|hscan/.test(name))).toBe(false)
})

test('usage is kept for its days after the last one of its part', async () => {
  const connection = createRedisConnection({
    url: redis.server.url,
    name: 'test',
    log: silent,
    commandTimeoutMs: 10_000,
  })
  const [seconds] = z.array(z.coerce.number()).parse(await command('TIME'))
  const day = Math.floor(((seconds ?? 0) * 1_000) / DAY_MS)
  const usage = (of: number) => ({
    day: of,
    key: NOTE.key,
    keyName: 'n/k',
    model: 'm',
    channel: 'c',
    counts: { requests: 1 },
  })
  try {
    await createRedisLedger(connection, 30).count(ACCOUNT, [usage(day)])
  } finally {
    await connection.close()
  }
  const part = Math.floor(day / PART_DAYS)
  for (const name of [`use:${part}`, `use:${part}:${NOTE.key}`])
    expect(await command('PEXPIRETIME', keyOf(name))).toBe(((part + 1) * PART_DAYS + 30) * DAY_MS)
})
