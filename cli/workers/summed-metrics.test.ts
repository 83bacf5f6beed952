import { expect, test } from 'vitest'
import { ProxyMetrics } from '../../proxy/telemetry/metrics.ts'
import { SummedMetrics } from './summed-metrics.ts'

/** A worker with a state of its own. */
function worker(state: { generation: number; ageSeconds: number; available: boolean; ejected: string[] }) {
  const metrics = new ProxyMetrics(['key'])
  metrics.read({
    inFlight: () => 3,
    sockets: () => 1,
    relayed: () => 0,
    draining: () => 0,
    bodyMemory: () => ({ requests: 1_000, relay: 10 }),
    holds: () => 2,
    unsettled: () => 1,
    generation: () => state.generation,
    tableAgeSeconds: () => state.ageSeconds,
    storeAvailable: () => state.available,
    ejected: () => state.ejected,
  })
  const finished = (times: number) => {
    for (let n = 0; n < times; n++)
      metrics.finished({ endpoint: 'chat', model: 'm', status: 200, durationSeconds: 0.03 })
  }
  return { finished, sent: async () => structuredClone(await metrics.registry.getMetricsAsJSON()) }
}

const first = () => worker({ generation: 7, ageSeconds: 1, available: true, ejected: ['default/a'] })
const second = () =>
  worker({ generation: 5, ageSeconds: 9, available: false, ejected: ['default/a', 'default/b'] })

async function seriesOf(metrics: SummedMetrics, series: string): Promise<number> {
  const line = (await metrics.text()).split('\n').find((one) => one.startsWith(`${series} `))
  return Number(line?.slice(series.length + 1) ?? Number.NaN)
}

const REQUESTS = 'sluice_requests_total{endpoint="chat",status="200",code="ok",domain="none"}'
const BUCKET =
  'gen_ai_server_request_duration_seconds_bucket{le="0.04",gen_ai_operation_name="chat",gen_ai_request_model="m",error_type=""}'

test('counts are added up; of a state the worst counts', async () => {
  const summed = new SummedMetrics(() => 2)
  for (const [number, one] of [first(), second()].entries()) {
    one.finished(number + 2)
    summed.take(number + 1, await one.sent())
  }
  for (const [series, value] of [
    [REQUESTS, 5],
    [BUCKET, 5],
    ['sluice_requests_in_flight', 6],
    ['sluice_holds', 4],
    ['sluice_settle_queue', 2],
    ['sluice_body_memory_bytes{of="requests"}', 2_000],
    ['sluice_table_generation', 5],
    ['sluice_table_age_seconds', 9],
    ['sluice_store_available', 0],
    ['sluice_channel_ejected{channel="default/a"}', 1],
    ['sluice_channel_ejected{channel="default/b"}', 1],
    ['sluice_workers', 2],
  ] as const)
    expect([series, await seriesOf(summed, series)]).toEqual([series, value])
})

test('what ended workers have counted stays counted, and their state does not', async () => {
  const summed = new SummedMetrics(() => 1)
  const [one, other] = [first(), second()]
  one.finished(10)
  other.finished(1)
  summed.take(1, await one.sent())
  summed.take(2, await other.sent())
  summed.ended(1)
  expect(await seriesOf(summed, REQUESTS)).toBe(11)
  expect(await seriesOf(summed, BUCKET)).toBe(11)
  expect(await seriesOf(summed, 'sluice_requests_in_flight')).toBe(3)
  const next = first()
  next.finished(4)
  summed.take(1, await next.sent())
  expect(await seriesOf(summed, REQUESTS)).toBe(15)
  summed.ended(1)
  summed.ended(1)
  expect(await seriesOf(summed, REQUESTS)).toBe(15)
})

test('a worker that does not answer counts with what it sent last', async () => {
  const summed = new SummedMetrics(() => 2)
  const [one, other] = [first(), second()]
  one.finished(3)
  other.finished(4)
  summed.take(1, await one.sent())
  summed.take(2, await other.sent())
  one.finished(1)
  summed.take(1, await one.sent())
  expect(await seriesOf(summed, REQUESTS)).toBe(8)
})
