import { collectDefaultMetrics, type Registry } from 'prom-client'

/** Metrics of the process itself, under the names that dashboards for Node know. */
export function addProcessMetrics(registry: Registry): void {
  collectDefaultMetrics({ register: registry })
  // Gauges under names of counters, which Prometheus' linter refuses; their series by type say the same.
  for (const name of ['handles', 'requests', 'resources'])
    registry.removeSingleMetric(`nodejs_active_${name}_total`)
}
