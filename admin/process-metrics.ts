import { collectDefaultMetrics, type Registry } from 'prom-client'

/** Metrics of the process itself, with the names that dashboards for Node expect. */
export function addProcessMetrics(registry: Registry): void {
  collectDefaultMetrics({ register: registry })
  // These gauges have names of counters, which Prometheus' linter refuses; their series by type contain the same.
  for (const name of ['handles', 'requests', 'resources'])
    registry.removeSingleMetric(`nodejs_active_${name}_total`)
}
