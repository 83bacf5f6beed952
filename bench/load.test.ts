import fc from 'fast-check'
import { expect, test } from 'vitest'
import { EventCounter } from './load.ts'

test('counts events however the stream is cut', () => {
  const text = Buffer.from(`${'data: {"a":1}\n\n'.repeat(5)}data: [DONE]\n\n`)
  fc.assert(
    fc.property(fc.array(fc.nat({ max: text.length }), { maxLength: 12 }), (cuts) => {
      const counter = new EventCounter()
      const edges = [0, ...cuts.sort((a, b) => a - b), text.length]
      for (const [index, edge] of edges.entries()) counter.push(text.subarray(edges[index - 1] ?? 0, edge))
      expect(counter.events).toBe(6)
    }),
  )
})
