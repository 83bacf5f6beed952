/**
 * The ledger beside the scripts of the previous version (test/fixtures/ledger-previous), as during a rollout: proxies of both
 * versions work on one account, and either controller may lead.
 */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import fc from 'fast-check'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { KEEP_MS } from '../../../store/ledger/tombstones.ts'
import { remoteRuns } from '../../harness/property-runs.ts'
import {
  ACCOUNT,
  EPOCH,
  fund,
  hold,
  LEASE_MS,
  NOTE,
  open,
  reservation,
  settle,
  sumsOf,
  topup,
} from './fixtures.ts'
import { type RedisLedgers, startRedisLedgers } from './redis-ledger.ts'
import type { StoreUnderTest } from './under-test.ts'

const numRuns = remoteRuns(60)
const FOLDER = join(import.meta.dirname, '../../fixtures/ledger-previous')
const KEYS = ['bal', 'rsv', 'exp', 'gc', 'led'].map((name) => `sluice:{${ACCOUNT}}:${name}`)
const CREDIT = 1_000_000

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

function run(script: string, ...args: (string | number)[]): Promise<unknown> {
  const read = (name: string) => readFileSync(join(FOLDER, `${name}.lua`), 'utf8')
  const source = read(script).replace('--!include ledger/common', () => read('common'))
  return redis.server.command('EVAL', source, KEYS.length, ...KEYS, KEEP_MS, 20, 10_000, ...args)
}

/** The commands of the previous version. */
const previous = {
  open: () => redis.server.command('HSETNX', KEYS[0] ?? '', 'p', 0),
  topup: (id: string, amount: number) => run('topup', id, '', amount),
  async reserve(id: string, amount: number): Promise<string> {
    const reply = (await run('reserve', id, '', amount, 1, 0, 0, LEASE_MS, NOTE.key, NOTE.model)) as string[]
    return reply[0] === 'OK' ? (reply[1] ?? '') : (reply[0] ?? '')
  },
  renew: (id: string, seen: number, amount: number) => run('renew', id, seen, amount, 1, 0, 0, LEASE_MS),
  settle: (id: string, actual: number, reservedAt: string) =>
    run('settle', id, '', actual, reservedAt, 'usage', NOTE.model, NOTE.channel, NOTE.key, '{"input":3}'),
  reap: () => run('reap', 1_000, 1_000),
}

describe('an account of the previous version', () => {
  test('keeps its balance, its credits and its holds', async () => {
    await previous.open()
    expect(await previous.topup('default/one', 100)).toBe('OK')
    expect(await previous.topup('default/minus', -30)).toBe('OK')
    const at = await previous.reserve('settled', 20)
    expect(await previous.settle('settled', 15, at)).toBe('OK')
    await previous.reserve('live', 10)
    await previous.renew('live', 4, 10)
    expect(await open(ledger())).toBe('DUP')
    expect(await ledger().balance(ACCOUNT)).toMatchObject({ posted: 55, held: 10, credited: 70 })
    expect(await topup(ledger(), 'default/one', 100)).toBe('DUP')
    expect(await topup(ledger(), 'default/one', 101)).toBe('CONFLICT')
    expect(await topup(ledger(), 'default/two', 5)).toBe('OK')
    expect(await ledger().balance(ACCOUNT)).toMatchObject({ posted: 60, held: 10, credited: 75 })
    await current.advance(LEASE_MS)
    expect(await ledger().reap(ACCOUNT, 10)).toEqual([{ account: ACCOUNT, id: 'live', charged: 4 }])
    expect(await ledger().balance(ACCOUNT)).toMatchObject({ posted: 56, held: 0, credited: 75 })
    const entries = await ledger().entries(ACCOUNT, undefined, 10)
    expect(entries.map(({ kind, ref, delta }) => [kind, ref, delta])).toEqual([
      ['credit', 'default/one', 100],
      ['credit', 'default/minus', -30],
      ['settle', 'settled', -15],
      ['credit', 'default/two', 5],
      ['expire', 'live', -4],
    ])
    expect(entries[2]?.note).toEqual({
      ...{ reason: 'usage', model: NOTE.model, channel: NOTE.channel, key: NOTE.key },
      ...{ endpoint: '', tier: '', price: '', tokens: { input: 3 }, flags: [] },
    })
    expect(entries[4]?.note).toMatchObject({ reason: 'checkpoint', model: NOTE.model, key: NOTE.key })
  })

  test('leaves nothing behind but its sums, credits and entries', async () => {
    await previous.open()
    await previous.topup('default/one', 100)
    const at = await previous.reserve('settled', 20)
    await previous.settle('settled', 15, at)
    await previous.reserve('expired', 10)
    await open(ledger())
    await current.advance(LEASE_MS)
    await ledger().reap(ACCOUNT, 10)
    await current.advance(KEEP_MS + 1)
    await ledger().reap(ACCOUNT, 10)
    const keys = (await redis.server.command('KEYS', `sluice:{${ACCOUNT}}:*`)) as string[]
    expect(keys.map((key) => key.split(':').at(-1)).sort()).toEqual(['bal', 'crd', 'led'])
  })
})

describe('a controller of the previous version that leads again', () => {
  test('finds the credits of this one, and this one finds its credits', async () => {
    await fund(ledger(), ACCOUNT, 100)
    expect(await previous.topup('default/start', 100)).toBe('DUP')
    expect(await previous.topup('default/other', 7)).toBe('OK')
    expect(await topup(ledger(), 'default/other', 7, { epoch: EPOCH + 1 })).toBe('DUP')
    expect(await ledger().balance(ACCOUNT)).toMatchObject({ posted: 107, credited: 107 })
  })

  test('does not expire the holds of this one', async () => {
    await fund(ledger(), ACCOUNT, 100)
    const at = await hold(ledger(), reservation('r1', 10))
    await current.advance(LEASE_MS)
    expect(await previous.reap()).toEqual([])
    expect(await settle(ledger(), 'r1', 5, at)).toBe('OK')
    expect(await sumsOf(ledger())).toEqual([95, 0])
  })
})

/** A request that a proxy of either version serves. */
const request = fc.record({
  isPrevious: fc.boolean(),
  amount: fc.integer({ min: 0, max: 50 }),
  actual: fc.integer({ min: 0, max: 80 }),
  /** It is settled after this time; if not at all, its proxy dies. */
  lastsMs: fc.constantFrom(0, 1_000, LEASE_MS - 1, LEASE_MS, 2 * LEASE_MS, undefined),
})

test('requests of both versions on one account are charged once each, whoever expires their holds', async () => {
  const work = fc.array(
    fc.record({ request, waitMs: fc.constantFrom(0, 0, 500, 10_000, LEASE_MS, KEEP_MS) }),
    {
      minLength: 1,
      maxLength: 30,
      size: 'max',
    },
  )
  const property = fc.asyncProperty(work, async (requests) => {
    current = await redis.create()
    await fund(ledger(), ACCOUNT, CREDIT)
    let now = 0
    let spent = 0
    const open: { id: string; due: number; end: () => Promise<void> }[] = []
    const pass = async (ms: number) => {
      const until = now + ms
      for (;;) {
        const next = open.filter(({ due }) => due <= until).sort((a, b) => a.due - b.due)[0]
        const to = next === undefined ? until : Math.max(now, next.due)
        if (to > now) await current.advance(to - now)
        now = to
        if (next === undefined) return
        open.splice(open.indexOf(next), 1)
        await next.end()
      }
    }
    for (const [i, { request: made, waitMs }] of requests.entries()) {
      const { isPrevious, amount, actual, lastsMs } = made
      const id = `r${i}`
      if (isPrevious) {
        const at = await previous.reserve(id, amount)
        const end = async () => {
          expect(await previous.settle(id, actual, at)).toMatch(/^(OK|LATE)$/)
          spent += actual
        }
        if (lastsMs !== undefined) open.push({ id, due: now + lastsMs, end })
      } else {
        const at = await hold(ledger(), reservation(id, amount))
        const end = async () => {
          expect(await settle(ledger(), id, actual, at)).toMatch(/^(OK|LATE)$/)
          spent += actual
        }
        if (lastsMs !== undefined) open.push({ id, due: now + lastsMs, end })
      }
      await pass(waitMs)
    }
    await pass(2 * LEASE_MS)
    await previous.reap()
    await ledger().reap(ACCOUNT, 1_000)
    expect(await ledger().balance(ACCOUNT)).toMatchObject({
      posted: CREDIT - spent,
      held: 0,
      credited: CREDIT,
    })
    const entries = await ledger().entries(ACCOUNT, undefined, 1_000)
    expect(entries.reduce((sum, { delta }) => sum + delta, 0)).toBe(CREDIT - spent)
  })
  await fc.assert(property, { numRuns })
}, 300_000)
