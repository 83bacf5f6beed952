/**
 * What the ledger costs Redis, in about two minutes: the CPU of a reserve and a settle beside that of a SET, measured in turn
 * in one run; that of limits; the memory that a settled request and its entry take; an account with 100,000 credits beside one with one;
 * and a leader that looks after a million idle accounts. Linux only (/proc).
 *
 *     node bench/ledger.ts [<idle accounts>]
 */
import { randomBytes } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import type { EntryNote, Ledger } from '../store/ledger/contract.ts'
import { createRedisConnection } from '../store/redis/connection.ts'
import { createRedisLedger } from '../store/redis/ledger.ts'
import { type RunningRedis, startRedis } from '../test/harness/redis.ts'
import { median } from './measure.ts'
import { cpuMicros } from './processes.ts'

const ROUNDS = 7
/** Commands of one measurement. */
const COMMANDS = 40_000
const IN_FLIGHT = 64
const CREDITS = 100_000
const IDLE_ACCOUNTS = Number(process.argv[2] ?? 1_000_000)
const SETTLED = 100_000

const NOTE: EntryNote = {
  reason: 'usage',
  model: 'bench-model',
  channel: 'default/bench-channel',
  key: 'k2q3rt5uvw7xyz2abcde',
  endpoint: 'chat',
  tier: '',
  price: 'a1b2c3d4',
  tokens: { input: 1_234, output: 567 },
  flags: [],
}

const newId = () => randomBytes(16).toString('base64url')

/** Runs `work` so many times, a few at once. */
async function repeat(times: number, work: (n: number) => Promise<unknown>): Promise<void> {
  let next = 0
  const lane = async () => {
    while (next < times) await work(next++)
  }
  await Promise.all(Array.from({ length: IN_FLIGHT }, lane))
}

/** Limits on the requests and the tokens of a key. */
const REQUESTS = { id: 'k/k2q3rt5uvw7xyz2abcde/rm', most: 1_000_000_000, windowMs: 60_000, takes: 1 }
const TOKENS = { id: 'k/k2q3rt5uvw7xyz2abcde/tm', most: 1_000_000_000_000, windowMs: 60_000 }

async function request(ledger: Ledger, account: string, limited = false): Promise<void> {
  const id = newId()
  const terms = { account, id, amount: 1_000_000, seen: 1_000, enforced: true, overdraft: 0, leaseMs: 30_000 }
  const meters = limited ? [REQUESTS, { ...TOKENS, takes: 2_000 }] : []
  const reply = await ledger.reserve({ ...terms, note: { ...NOTE, reason: 'checkpoint' }, meters })
  if (reply.reply !== 'OK') throw new Error(`reserve: ${reply.reply}`)
  const settled = await ledger.settle({
    account,
    id,
    actual: 12_345,
    reservedAt: reply.reservedAt,
    note: NOTE,
    corrections: limited ? [{ ...TOKENS, by: -199 }] : [],
  })
  if (settled.reply !== 'OK') throw new Error(`settle: ${settled.reply}`)
}

/** CPU of Redis in microseconds, per run of `work`. */
async function cost(redis: RunningRedis, times: number, work: (n: number) => Promise<unknown>) {
  const before = cpuMicros(redis.pid())
  await repeat(times, work)
  return (cpuMicros(redis.pid()) - before) / times
}

async function usedMemory(redis: RunningRedis): Promise<number> {
  return Number(/used_memory:(\d+)/.exec(String(await redis.command('INFO', 'memory')))?.[1])
}

async function main(redis: RunningRedis): Promise<void> {
  const log = { debug() {}, info() {}, warn() {}, error() {} }
  const connection = createRedisConnection({ url: redis.url, name: 'bench', log, commandTimeoutMs: 60_000 })
  const ledger = createRedisLedger(connection)
  const open = async (account: string, credits: number) => {
    await ledger.open({ account, epoch: 1, create: true })
    await repeat(credits, (n) =>
      ledger.topup({ account, epoch: 1, id: `default/c${n}`, amount: 10_000_000_000 }),
    )
  }
  try {
    await open('one', 1)
    await open('many', CREDITS)

    const pairs: number[] = []
    const many: number[] = []
    const limits: number[] = []
    for (let round = 0; round <= ROUNDS; round++) {
      const set = await cost(redis, COMMANDS, (n) =>
        connection.command(['SET', `bench:${n % 1_000}`, 'x'.repeat(100)]),
      )
      const pair = await cost(redis, COMMANDS / 4, () => request(ledger, 'one'))
      const limited = await cost(redis, COMMANDS / 4, () => request(ledger, 'one', true))
      const rich = await cost(redis, COMMANDS / 4, () => request(ledger, 'many'))
      // The first round only warms up.
      if (round > 0) pairs.push(pair / set)
      if (round > 0) many.push(rich / pair)
      if (round > 0) limits.push(limited / pair)
      console.error(`round ${round}: SET ${set.toFixed(1)} µs, reserve and settle ${pair.toFixed(1)} µs`)
    }
    console.log(`reserve and settle: ${median(pairs).toFixed(2)} times a SET`)
    console.log(`the same with limits on requests and tokens: ${median(limits).toFixed(2)} times one without`)
    console.log(
      `the same on an account with ${CREDITS} credits: ${median(many).toFixed(2)} times one with a single credit`,
    )

    await open('memory', 1)
    const before = await usedMemory(redis)
    await repeat(SETTLED, () => request(ledger, 'memory'))
    const all = (await usedMemory(redis)) - before
    const entries = Number(await redis.command('MEMORY', 'USAGE', 'sluice:{memory}:led', 'SAMPLES', 0))
    const names = Buffer.byteLength(NOTE.model + NOTE.channel + NOTE.key)
    console.log(`memory of a settled request: ${((all - entries) / SETTLED).toFixed(0)} bytes`)
    console.log(`an entry: ${(entries / SETTLED - names).toFixed(0)} bytes beside ${names} bytes of names`)

    await repeat(IDLE_ACCOUNTS, (n) => ledger.open({ account: `idle${n}`, epoch: 1, create: true }))
    const started = performance.now()
    const spent = cpuMicros(redis.pid())
    let walked = 0
    let cursor: string | undefined
    do {
      const page = await ledger.walk(cursor, 1_000)
      await repeat(page.accounts.length, (n) => ledger.reap(page.accounts[n] ?? '', 1_000))
      walked += page.accounts.length
      cursor = page.next
    } while (cursor !== undefined)
    const micros = (cpuMicros(redis.pid()) - spent) / walked
    await delay(0)
    console.log(
      `a walk over ${walked} idle accounts: ${micros.toFixed(1)} µs of Redis for each, ${((performance.now() - started) / 1_000).toFixed(0)} s at full speed`,
    )
  } finally {
    await connection.close()
  }
}

const redis = await startRedis()
try {
  await main(redis)
} finally {
  await redis.stop()
}
