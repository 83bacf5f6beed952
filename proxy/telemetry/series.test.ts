import fc from 'fast-check'
import { Counter, Histogram, Registry } from 'prom-client'
import { expect, test } from 'vitest'
import { CountedSeries, ObservedSeries } from './series.ts'

const LABELS = ['endpoint', 'model'] as const
const BUCKETS = [0.01, 0.5, 4]
const label = fc.constantFrom('', 'chat', 'a model with "quotes"', 'line\nbreak')
const value = fc.oneof(fc.constantFrom(...BUCKETS), fc.double({ min: 0, max: 10, noNaN: true }))
const observations = fc.array(fc.tuple(value, label, label), { maxLength: 40 })
const config = { name: 'one', help: 'A metric.', labelNames: LABELS }

type Shown = { values: { value: number; labels: Record<string, unknown>; metricName?: string }[] }

/** Its text and its JSON, sorted: series may come in another order. */
async function shown(registry: Registry): Promise<unknown> {
  const [metric] = (await registry.getMetricsAsJSON()) as unknown as Shown[]
  const values = (metric?.values ?? []).map(({ value, labels, metricName }) =>
    JSON.stringify([metricName, Object.entries(labels).sort(), value]),
  )
  const text = await registry.metrics()
  return { text: text.split('\n').sort(), metric: { ...metric, values: values.sort() } }
}

test('a histogram shows what one of prom-client shows', async () => {
  await fc.assert(
    fc.asyncProperty(observations, async (all) => {
      const [own, theirs] = [new Registry(), new Registry()]
      const series = new ObservedSeries({ ...config, buckets: BUCKETS, registers: [own] })
      const histogram = new Histogram({ ...config, buckets: BUCKETS, registers: [theirs] })
      for (const [seconds, endpoint, model] of all) {
        series.observe(seconds, endpoint, model)
        histogram.observe({ endpoint, model }, seconds)
      }
      expect(await shown(own)).toEqual(await shown(theirs))
    }),
  )
})

test('a counter shows what one of prom-client shows, scrape after scrape', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(observations, { minLength: 1, maxLength: 3 }), async (scrapes) => {
      const [own, theirs] = [new Registry(), new Registry()]
      const series = new CountedSeries({ ...config, registers: [own] })
      const counter = new Counter({ ...config, registers: [theirs] })
      for (const all of scrapes) {
        for (const [, endpoint, model] of all) {
          series.add(2, endpoint, model)
          counter.inc({ endpoint, model }, 2)
        }
        expect(await shown(own)).toEqual(await shown(theirs))
      }
    }),
  )
})
