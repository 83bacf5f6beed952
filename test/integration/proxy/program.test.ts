/** `sluice proxy`, the program. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { until } from '../../harness/gateway.ts'
import { call } from '../../harness/http.ts'
import { endProgram, startSluice } from '../../harness/program.ts'
import { startProxyProgram } from './program.ts'
import { METERED, startWorld, statusOf, UNKNOWN, UNMETERED, type World } from './world.ts'

let world: World
beforeAll(async () => {
  world = await startWorld()
})
afterAll(() => world.stop())

const isReady = async ({ admin }: { admin: string }) => (await call(`${admin}/readyz`)).status === 200

test('serves what is published, reports its name and state, and retires on SIGTERM', async () => {
  const proxy = await startProxyProgram(world, { SLUICE_INSTANCE: 'proxy-of-the-test' })
  await until(() => isReady(proxy), 'readiness')
  const statuses = [
    await statusOf(proxy, UNMETERED),
    await statusOf(proxy, METERED, 'paid'),
    await statusOf(proxy, UNKNOWN),
  ]
  expect(statuses).toEqual([200, 200, 401])
  const { instances } = JSON.parse((await call(`${proxy.admin}/status`)).text)
  expect(instances).toEqual([
    {
      role: 'proxy',
      instance: 'proxy-of-the-test',
      ...(await world.store.config.position()),
      ready: true,
      store: 'reachable',
      port: Number(new URL(proxy.base).port),
    },
  ])
  const beats = () => world.store.config.heartbeats(60_000)
  expect((await beats()).map((beat) => beat.proxy)).toContain('proxy-of-the-test')
  process.kill(proxy.pid, 'SIGTERM')
  expect(await proxy.program.exited).toBe(0)
  expect((await beats()).map((beat) => beat.proxy)).not.toContain('proxy-of-the-test')
  const sealing = /[A-Za-z0-9+/]{43}=/
  expect(proxy.program.output()).not.toMatch(sealing)
  expect(proxy.program.output()).not.toContain(METERED)
})

test('its metrics are valid for Prometheus', async () => {
  const proxy = await startProxyProgram(world)
  await until(() => isReady(proxy), 'readiness')
  await statusOf(proxy, METERED, 'paid')
  const { text } = await call(`${proxy.admin}/metrics`)
  const names = ['store_available', 'table_generation', 'table_age_seconds', 'settle_queue']
  for (const name of [...names, 'records_unreadable_total{kind="key"}'])
    expect(text).toMatch(new RegExp(`^sluice_${name.replace(/[{}]/g, '\\$&')} \\d`, 'm'))
  const promtool = spawn('promtool', ['check', 'metrics'], { stdio: ['pipe', 'pipe', 'pipe'] })
  let output = ''
  for (const stream of [promtool.stdout, promtool.stderr])
    stream.on('data', (chunk: Buffer) => (output += chunk))
  promtool.stdin.end(text)
  const [code] = await once(promtool, 'close')
  expect({ code, output }).toEqual({ code: 0, output: '' })
})

test('names the missing settings and the page that explains them', async () => {
  const keys = join(tmpdir(), `sluice-keys-${process.pid}`)
  writeFileSync(keys, '# a comment\nk1:not-a-key-but-secret\n')
  const started = async (env: Record<string, string>) => {
    const program = startSluice(env, ['proxy'])
    const code = await program.exited
    await endProgram(program)
    return { code, output: program.output() }
  }
  try {
    const bare = await started({})
    expect(bare.code).toBe(2)
    for (const name of ['SLUICE_REDIS_URL', 'SLUICE_SEALING_KEYS_FILE', 'docs/redis.md'])
      expect(bare.output).toContain(name)
    const bad = await started({ SLUICE_REDIS_URL: world.redis.url, SLUICE_SEALING_KEYS_FILE: keys })
    expect(bad.code).toBe(2)
    expect(bad.output).toMatch(/SLUICE_SEALING_KEYS_FILE: .* line 2/)
    expect(bad.output).not.toContain('not-a-key-but-secret')
    const absent = await started({ SLUICE_REDIS_URL: world.redis.url, SLUICE_SEALING_KEYS_FILE: '/nowhere' })
    expect([absent.code, absent.output]).toEqual([2, expect.stringContaining('/nowhere')])
  } finally {
    rmSync(keys)
  }
})
