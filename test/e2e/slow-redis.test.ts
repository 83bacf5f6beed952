import { randomBytes } from 'node:crypto'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { withStore } from '../../cli/ledger/store.ts'
import { startRedis } from '../harness/redis.ts'

/** Longer than a request of a proxy waits for Redis. */
const PAUSE_MS = 600

test('a command of a person waits for a Redis that is slow to answer', async () => {
  const dir = mkdtempSync(join(tmpdir(), 'sluice-slow-redis-'))
  onTestFinished(() => rmSync(dir, { recursive: true }))
  const keys = join(dir, 'keys')
  writeFileSync(keys, `one:${randomBytes(32).toString('base64')}\n`)
  const redis = await startRedis()
  onTestFinished(() => redis.stop())
  await redis.command('CLIENT', 'PAUSE', PAUSE_MS, 'ALL')
  const env = { SLUICE_REDIS_URL: redis.url, SLUICE_SEALING_KEYS_FILE: keys }
  const terminal = { env, width: undefined, print() {}, warn() {} }
  const position = await withStore(terminal, ({ config }) => config.position())
  expect(position).toEqual({ epoch: 0, generation: 0 })
})
