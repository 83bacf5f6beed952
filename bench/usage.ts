/**
 * What the usage of many keys takes: memory of Redis for a key and a day, and the time of a report. Linux only.
 *
 *     node bench/usage.ts [<keys> [<models> [<days>]]]
 */
import { UsageCounter } from '../controller/books/usage-counter.ts'
import { reportUsage } from '../controller/books/usage-report.ts'
import type { Dimension } from '../controller/snapshot.ts'
import type { Counted } from '../store/ledger/contract.ts'
import { DAY_MS } from '../store/ledger/usage.ts'
import { createRedisConnection } from '../store/redis/connection.ts'
import { createRedisLedger } from '../store/redis/ledger.ts'
import { type RunningRedis, startRedis } from '../test/harness/redis.ts'

const [KEYS = 10_000, MODELS = 1, DAYS = 30] = process.argv.slice(2).map(Number)
/** Keys of one account. */
const CLASS = 500
const QUESTIONS: Dimension[][] = [['account'], ['key'], ['key', 'model'], ['key', 'model', 'day']]

/** Ids of accounts and keys have twenty characters. */
const idOf = (kind: string, n: number) => kind + String(n).padStart(19, '0')

async function usedMemory(redis: RunningRedis): Promise<number> {
  return Number(/used_memory:(\d+)/.exec(String(await redis.command('INFO', 'memory')))?.[1])
}

async function main(redis: RunningRedis): Promise<void> {
  const log = { debug() {}, info() {}, warn() {}, error() {} }
  const connection = createRedisConnection({ url: redis.url, name: 'bench', log, commandTimeoutMs: 60_000 })
  const ledger = createRedisLedger(connection)
  const today = Math.floor(Date.now() / DAY_MS)
  try {
    const accounts = Array.from({ length: Math.ceil(KEYS / CLASS) }, (_, n) => idOf('a', n))
    for (const account of accounts) await ledger.open({ account, epoch: 1, create: true })
    const before = await usedMemory(redis)
    for (let key = 0; key < KEYS; key++) {
      const rows: Counted[] = []
      for (let day = today - DAYS + 1; day <= today; day++)
        for (let model = 0; model < MODELS; model++)
          rows.push({
            day,
            key: idOf('k', key),
            keyName: `students/student-${key}`,
            model: `model-number-${model}`,
            channel: 'default/openai',
            counts: { requests: 10, cost: 123_456_789, input: 12_345, output: 6_789 },
          })
      await ledger.count(accounts[Math.floor(key / CLASS)] ?? '', rows)
    }
    const memory = (await usedMemory(redis)) - before
    const rows = KEYS * MODELS * DAYS
    console.log(
      `${rows} rows: ${(memory / 1e6).toFixed(0)} MB of Redis, ${(memory / rows).toFixed(0)} bytes each`,
    )

    const counter = new UsageCounter(ledger, { key: () => undefined })
    for (const by of QUESTIONS) {
      const started = performance.now()
      const lines = await reportUsage(
        ledger,
        counter,
        { accounts: new Map(), keys: new Map() },
        {
          from: today - DAYS + 1,
          to: today,
          by,
        },
      )
      const seconds = ((performance.now() - started) / 1_000).toFixed(2)
      const rss = (process.memoryUsage.rss() / 1e6).toFixed(0)
      console.log(`by ${by.join(', ')}: ${lines.length} lines in ${seconds} s, ${rss} MB`)
    }
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
