/** The request log shares memory with the balances, so its size is bounded whatever upstreams answer. */
import { expect, onTestFinished, test } from 'vitest'
import { createRedisConnection } from '../../../store/redis/connection.ts'
import { createRedisStore } from '../../../store/redis/index.ts'
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

test('lines that still wait for others when the store is closed are in the log, in their order', async () => {
  const server = await startRedis()
  onTestFinished(() => server.stop())
  const open = () =>
    createRedisStore({ url: `redis://127.0.0.1:${server.port}`, sealing, log: silent, instance: 'test' })
  const first = open()
  // A first line, so that the store is connected.
  await first.state.appendLog('0')
  const lines = Array.from({ length: 200 }, (_, i) => String(i + 1))
  const appended = lines.map((line) => first.state.appendLog(line))
  await first.close()
  await Promise.all(appended)
  const second = open()
  onTestFinished(() => second.close())
  expect(await second.state.recentLog(1_000)).toEqual(['0', ...lines].reverse())
})
