/**
 * Counters and histograms of the hot path. prom-client validates and hashes the labels of every observation; here a series
 * is found by its label values, and its labels are resolved once.
 */
import { Counter, type CounterConfiguration, Histogram, type HistogramConfiguration } from 'prom-client'

/** No label value contains it. */
const SEPARATOR = '\n'

export class CountedSeries<L extends string> {
  readonly #labelNames: readonly L[]
  readonly #series = new Map<string, { labels: Record<L, string | number>; added: number }>()

  /** `labelNames`: in the order in which `add` gets their values. */
  constructor(config: CounterConfiguration<L> & { labelNames: readonly L[] }) {
    this.#labelNames = config.labelNames
    const series = this.#series
    new Counter({
      ...config,
      collect() {
        for (const one of series.values()) {
          if (one.added > 0) this.inc(one.labels, one.added)
          one.added = 0
        }
      },
    })
  }

  add(count: number, ...values: (string | number)[]): void {
    const name = values.length === 1 ? String(values[0]) : values.join(SEPARATOR)
    const known = this.#series.get(name)
    if (known !== undefined) known.added += count
    else this.#series.set(name, { labels: labelsOf(this.#labelNames, values), added: count })
  }
}

export class ObservedSeries<L extends string> {
  readonly #labelNames: readonly L[]
  readonly #histogram: Histogram<L>
  readonly #series = new Map<string, (value: number) => void>()

  constructor(config: HistogramConfiguration<L> & { labelNames: readonly L[] }) {
    this.#labelNames = config.labelNames
    this.#histogram = new Histogram(config)
  }

  observe(value: number, ...values: string[]): void {
    const name = values.length === 1 ? String(values[0]) : values.join(SEPARATOR)
    let observe = this.#series.get(name)
    if (observe === undefined) {
      const child = this.#histogram.labels(labelsOf(this.#labelNames, values))
      observe = (one) => child.observe(one)
      this.#series.set(name, observe)
    }
    observe(value)
  }
}

function labelsOf<L extends string, V extends string | number>(
  names: readonly L[],
  values: readonly V[],
): Record<L, V> {
  return Object.fromEntries(names.map((name, i) => [name, values[i]])) as Record<L, V>
}
