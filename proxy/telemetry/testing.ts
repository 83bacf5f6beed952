import { type ProxyGauges, ProxyMetrics } from './metrics.ts'

/** Metrics of a proxy that does nothing, but for these gauges. */
export function testMetrics(changes: Partial<ProxyGauges> = {}): ProxyMetrics {
  const metrics = new ProxyMetrics(['table', 'key', 'account'])
  metrics.read({
    inFlight: () => 0,
    sockets: () => 0,
    relayed: () => 0,
    draining: () => 0,
    bodyMemory: () => ({ requests: 0, relay: 0 }),
    holds: () => 0,
    unsettled: () => 0,
    generation: () => 0,
    tableAgeSeconds: () => 0,
    storeAvailable: () => true,
    ejected: () => [],
    ...changes,
  })
  return metrics
}
