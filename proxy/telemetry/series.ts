/**
 * Counters and histograms of the hot path. prom-client checks and hashes the labels of every observation; here a series is
 * found by its label values one after another, whose hashes V8 keeps, and costs an addition.
 */
import { Counter, type CounterConfiguration, Histogram, type HistogramConfiguration } from 'prom-client'

type LabelValue = string | number

/** The series whose first label values are the same. */
class Branch<T> {
  series: T | undefined
  readonly #branches = new Map<LabelValue, Branch<T>>()

  at(value: LabelValue): Branch<T> {
    const known = this.#branches.get(value)
    if (known !== undefined) return known
    const branch = new Branch<T>()
    this.#branches.set(value, branch)
    return branch
  }

  /** All series of this branch. */
  all(): T[] {
    const others = [...this.#branches.values()].flatMap((branch) => branch.all())
    return this.series === undefined ? others : [this.series, ...others]
  }
}

function branchAt<T>(root: Branch<T>, values: readonly LabelValue[]): Branch<T> {
  let branch = root
  for (const value of values) branch = branch.at(value)
  return branch
}

export class CountedSeries<L extends string> {
  readonly #labelNames: readonly L[]
  readonly #root = new Branch<{ labels: Record<L, LabelValue>; added: number }>()

  /** `labelNames`: in the order in which `add` gets their values. */
  constructor(config: CounterConfiguration<L> & { labelNames: readonly L[] }) {
    this.#labelNames = config.labelNames
    const root = this.#root
    new Counter({
      ...config,
      collect() {
        for (const one of root.all()) {
          if (one.added > 0) this.inc(one.labels, one.added)
          one.added = 0
        }
      },
    })
  }

  add(count: number, ...values: LabelValue[]): void {
    const branch = branchAt(this.#root, values)
    branch.series ??= { labels: labelsOf(this.#labelNames, values), added: 0 }
    branch.series.added += count
  }
}

type ObservedConfig<L extends string> = HistogramConfiguration<L> & {
  labelNames: readonly L[]
  /** Bounds, rising. */
  buckets: readonly number[]
}

interface Observed<L extends string> {
  labels: Record<L, LabelValue>
  /** By bucket; the last has the values above all bounds. */
  counts: number[]
  sum: number
}

export class ObservedSeries<L extends string> {
  readonly #labelNames: readonly L[]
  readonly #bounds: readonly number[]
  readonly #root = new Branch<Observed<L>>()

  /** `labelNames`: in the order in which `observe` gets their values. */
  constructor(config: ObservedConfig<L>) {
    this.#labelNames = config.labelNames
    this.#bounds = config.buckets
    new CountedHistogram(config, () => this.#root.all())
  }

  observe(value: number, ...values: string[]): void {
    const branch = branchAt(this.#root, values)
    branch.series ??= this.#begin(values)
    const { series } = branch
    let bucket = 0
    while (bucket < this.#bounds.length && value > (this.#bounds[bucket] ?? 0)) bucket++
    series.counts[bucket] = (series.counts[bucket] ?? 0) + 1
    series.sum += value
  }

  #begin(values: readonly string[]): Observed<L> {
    const counts = Array.from({ length: this.#bounds.length + 1 }, () => 0)
    return { labels: labelsOf(this.#labelNames, values), counts, sum: 0 }
  }
}

/** A histogram of prom-client whose series are counted elsewhere. */
class CountedHistogram<L extends string> extends Histogram<L> {
  readonly #config: ObservedConfig<L>
  readonly #series: () => Observed<L>[]

  constructor(config: ObservedConfig<L>, series: () => Observed<L>[]) {
    super(config)
    this.#config = config
    this.#series = series
  }

  /** prom-client makes both its text and its JSON of this. */
  async getForPromString() {
    const { name, help } = this.#config
    const values = this.#series().flatMap((series) => this.#valuesOf(series))
    return { name, help, type: 'histogram', aggregator: 'sum', values }
  }

  #valuesOf({ labels, counts, sum }: Observed<L>) {
    const { name, buckets } = this.#config
    const valueFor = (part: string, value: number, own: { le?: LabelValue } = {}) => {
      return { metricName: `${name}_${part}`, value, labels: own, sharedLabels: labels }
    }
    let below = 0
    const rising = counts.map((count, i) => {
      below += count
      return valueFor('bucket', below, { le: buckets[i] ?? '+Inf' })
    })
    return [...rising, valueFor('sum', sum), valueFor('count', below)]
  }
}

function labelsOf<L extends string, V extends LabelValue>(
  names: readonly L[],
  values: readonly V[],
): Record<L, V> {
  return Object.fromEntries(names.map((name, i) => [name, values[i]])) as Record<L, V>
}
