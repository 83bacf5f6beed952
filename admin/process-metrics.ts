import { collectDefaultMetrics, Gauge, type Registry } from 'prom-client'
import { watchLoopDelay } from '../kit/loop-delay.ts'
import { MAX_TIMER_MS } from '../kit/time.ts'

const NS_PER_SECOND = 1e9

/** Metrics of the process itself, with the names that dashboards for Node expect. */
export function addProcessMetrics(registry: Registry): void {
  // The monitor of prom-client would wake the process 100 times a second, so it never fires, and its series are ours.
  collectDefaultMetrics({ register: registry, eventLoopMonitoringPrecision: MAX_TIMER_MS })
  for (const name of Object.keys(LOOP_DELAY)) registry.removeSingleMetric(nameOf(name))
  addLoopDelay(registry)
  // These gauges have names of counters, which Prometheus' linter refuses; their series by type contain the same.
  for (const name of ['handles', 'requests', 'resources'])
    registry.removeSingleMetric(`nodejs_active_${name}_total`)
}

/** Since the scrape before. */
const LOOP_DELAY = {
  min: { help: 'The shortest', aggregator: 'min' },
  max: { help: 'The longest', aggregator: 'max' },
  mean: { help: 'The mean', aggregator: 'average' },
  stddev: { help: 'The standard deviation of the', aggregator: 'average' },
  p50: { help: 'The 50th percentile of the', aggregator: 'average' },
  p90: { help: 'The 90th percentile of the', aggregator: 'average' },
  p99: { help: 'The 99th percentile of the', aggregator: 'average' },
} as const

const nameOf = (name: string) => `nodejs_eventloop_lag_${name}_seconds`

function addLoopDelay(registry: Registry): void {
  const { delays } = watchLoopDelay()
  const read = () => {
    // Two scrapes in a row: the values of the first stay.
    if (delays.count === 0) return
    const { min, max, mean, stddev } = delays
    const [p50, p90, p99] = [delays.percentile(50), delays.percentile(90), delays.percentile(99)]
    const values: Record<string, number> = { min, max, mean, stddev, p50, p90, p99 }
    for (const [name, gauge] of gauges) gauge.set((values[name] ?? 0) / NS_PER_SECOND)
    delays.reset()
  }
  const gauges = Object.entries(LOOP_DELAY).map(([name, { help, aggregator }], i) => {
    const gauge = new Gauge({
      name: nameOf(name),
      help: `${help} delay of the event loop.`,
      registers: [registry],
      aggregator,
      // The first that is collected reads for all.
      ...(i === 0 && { collect: read }),
    })
    return [name, gauge] as const
  })
}
