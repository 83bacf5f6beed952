import { setTimeout as delay } from 'node:timers/promises'
import { collectDefaultMetrics, Registry } from 'prom-client'
import { expect, test, vi } from 'vitest'
import { addProcessMetrics } from './process-metrics.ts'

vi.mock('prom-client', { spy: true })

const registry = new Registry()
addProcessMetrics(registry)

/** Values of the series of the loop delay, in seconds. */
async function delays(): Promise<Record<string, number>> {
  const text = await registry.metrics()
  const lines = text.matchAll(/^nodejs_eventloop_lag_(\w+)_seconds (\S+)$/gm)
  return Object.fromEntries(Array.from(lines, ([, name = '', value]) => [name, Number(value)]))
}

async function standStill(ms: number): Promise<void> {
  const until = performance.now() + ms
  while (performance.now() < until);
  // The looks that are due come before this.
  await delay(100)
}

test('a scrape shows the delays since the one before', async () => {
  await standStill(1_000)
  const first = await delays()
  expect(Object.keys(first).sort()).toEqual(['max', 'mean', 'min', 'p50', 'p90', 'p99', 'stddev'])
  expect(first.max).toBeGreaterThanOrEqual(0.945)
  expect(first.p99).toBeGreaterThanOrEqual(0.945)
  // A second scrape at once has nothing new to show.
  expect(await delays()).toEqual(first)
  await delay(200)
  expect((await delays()).max).toBeLessThan(0.945)
})

test('the metrics do not wake an idle process by a monitor of their own', () => {
  addProcessMetrics(new Registry())
  const [options] = vi.mocked(collectDefaultMetrics).mock.calls[0] ?? []
  expect(options?.eventLoopMonitoringPrecision).toBeGreaterThan(86_400_000)
})
