/** The metrics of all workers and of the first process as those of one. */
import { AggregatorRegistry, Gauge, Registry } from 'prom-client'
import { z } from 'zod'
import { addProcessMetrics } from '../../admin/process-metrics.ts'

/** What getMetricsAsJSON returns. */
const metrics = z.array(
  z.object({
    name: z.string(),
    help: z.string(),
    type: z.enum(['counter', 'gauge', 'histogram', 'summary']),
    aggregator: z.string().optional(),
    values: z.array(
      z.object({
        value: z.number().or(z.nan()),
        labels: z.record(z.string(), z.union([z.string(), z.number()])),
        metricName: z.string().optional(),
      }),
    ),
  }),
)
type Metrics = z.output<typeof metrics>

/** What was counted stays counted when its worker has gone: Prometheus takes a smaller sum for a restart of everything. */
const LASTING = new Set(['counter', 'histogram'])

export class SummedMetrics {
  readonly contentType = Registry.PROMETHEUS_CONTENT_TYPE
  readonly #own = new Registry()
  /** The newest of each worker, by its number. */
  readonly #newest = new Map<number, Metrics>()
  /** Of workers that have ended. */
  #past: Metrics = []

  /** `listening`: the number of workers that serve now. */
  constructor(listening: () => number) {
    addProcessMetrics(this.#own)
    new Gauge({
      name: 'sluice_workers',
      help: 'Workers that serve.',
      registers: [this.#own],
      collect() {
        this.set(listening())
      },
    })
  }

  /** The metrics that a worker has sent. */
  take(worker: number, sent: unknown): void {
    this.#newest.set(worker, metrics.parse(sent))
  }

  /** A worker has ended; one of the same number may follow. */
  ended(worker: number): void {
    const last = this.#newest.get(worker)?.filter(({ type }) => LASTING.has(type)) ?? []
    this.#newest.delete(worker)
    if (last.length > 0) this.#past = [...this.#past, ...last]
  }

  /** In the form of Prometheus. */
  async text(): Promise<string> {
    this.#past = await summed([this.#past])
    const own = metrics.parse(await this.#own.getMetricsAsJSON())
    return AggregatorRegistry.aggregate([own, this.#past, ...this.#newest.values()]).metrics()
  }
}

/** One entry for each name. */
async function summed(several: Metrics[]): Promise<Metrics> {
  return metrics.parse(await AggregatorRegistry.aggregate(several).getMetricsAsJSON())
}
