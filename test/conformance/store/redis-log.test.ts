/** The request log shares memory with the balances, so its size is bounded whatever upstreams answer. */
import { expect, onTestFinished, test } from 'vitest'
import { createRedisConnection } from '../../../store/redis/connection.ts'
import { createRedisState } from '../../../store/redis/state.ts'
import { startRedis } from '../../harness/redis.ts'
import { keyRing, silent } from './redis.ts'

const LINE = 500_000
const sealing = keyRing(`one:${Buffer.alloc(32, 1).toString('base64')}`)

test('the log keeps fewer large lines, and all of them can be read', async () => {
  const server = await startRedis()
  const url = `redis://127.0.0.1:${server.port}`
  const connection = createRedisConnection({ url, name: 'test', log: silent, commandTimeoutMs: 5_000 })
  onTestFinished(async () => {
    await connection.close()
    await server.stop()
  })
  const state = createRedisState(connection, sealing, 10_000)
  for (let i = 0; i < 300; i++) await state.appendLog(`${i} ${'x'.repeat(LINE)}`)
  const lines = await state.recentLog(10_000)
  expect(lines[0]).toMatch(/^299 /)
  expect(lines.length).toBeGreaterThan(50)
  expect(lines.length * LINE).toBeLessThan(50_000_000)
})
