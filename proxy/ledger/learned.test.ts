import fc from 'fast-check'
import { expect, test } from 'vitest'
import { zeroUsage } from '../../contract/usage.ts'
import { LearnedOutputs, outputTokens, thoughtTokens } from './learned.ts'

const text = (tokens: number) => ({ deltas: 0, bytes: tokens * 4 })
const usage = (output: number, reasoning = 0) => ({ ...zeroUsage(), output, reasoning })

function after(answers: { visible: number; output: number; reasoning?: number }[]) {
  const learned = new LearnedOutputs()
  for (const { visible, output, reasoning } of answers)
    learned.learn('r', text(visible), usage(output, reasoning))
  return (visible: number) => outputTokens(text(visible), learned.of('r'))
}

test('an unknown route has the tokens that were delivered', () => {
  expect(after([])(100)).toBe(100)
})

test('an answer of a route with more tokens a byte counts as many', () => {
  const estimate = after(Array(60).fill({ visible: 500, output: 900 }))
  expect(estimate(1_000) / 1_800).toBeCloseTo(1, 1)
})

test('tokens that the visible text cannot explain are hidden reasoning, even if the upstream reports none', () => {
  const estimate = after(Array(40).fill({ visible: 200, output: 20_200 }))
  expect(estimate(1)).toBeGreaterThanOrEqual(19_000)
  expect(estimate(200) / 20_200).toBeCloseTo(1, 1)
})

test('a short first answer teaches little', () => {
  expect(after([{ visible: 1, output: 50 }])(100)).toBeLessThan(200)
})

test('hidden reasoning is charged by its mean, however short the visible text is', () => {
  const estimate = after(Array(40).fill({ visible: 200, output: 20_200, reasoning: 20_000 }))
  expect(estimate(1)).toBeGreaterThanOrEqual(19_000)
  expect(estimate(200) / 20_200).toBeCloseTo(1, 1)
})

test('the first answer with reasoning is its mean', () => {
  expect(after([{ visible: 100, output: 1_100, reasoning: 1_000 }])(100)).toBe(1_100)
})

test('reasoning that the client saw is not charged twice', () => {
  const estimate = after(Array(40).fill({ visible: 1_000, output: 1_000, reasoning: 900 }))
  expect(estimate(1_000)).toBe(1_000)
})

test('a summary of the reasoning does not hide the rest', () => {
  // 100 of text and 300 of summary were seen; 2,000 of reasoning were made.
  const estimate = after(Array(40).fill({ visible: 400, output: 2_100, reasoning: 2_000 }))
  expect(estimate(400) / 2_100).toBeCloseTo(1, 1)
})

test('estimates are within 15 % (median) and 35 % (p95) where reasoning varies by a quarter', () => {
  fc.assert(
    fc.property(
      fc.array(
        fc.noBias(fc.tuple(fc.integer({ min: 100, max: 2_000 }), fc.integer({ min: 3_000, max: 5_000 }))),
        {
          minLength: 100,
          maxLength: 150,
        },
      ),
      (answers) => {
        const learned = new LearnedOutputs()
        const errors: number[] = []
        answers.forEach(([visible, reasoning], i) => {
          const output = Math.round(visible * 1.2) + reasoning
          const estimate = outputTokens(text(visible), learned.of('r'))
          if (i >= 20) errors.push(Math.abs(estimate - output) / output)
          learned.learn('r', text(visible), usage(output, reasoning))
        })
        errors.sort((a, b) => a - b)
        expect(errors[Math.floor(errors.length / 2)]).toBeLessThan(0.15)
        expect(errors[Math.floor(errors.length * 0.95)]).toBeLessThan(0.35)
      },
    ),
  )
})

test('a stream that has shown nothing yet is charged for reasoning by the time that it took', () => {
  const learned = new LearnedOutputs()
  for (let i = 0; i < 40; i++) learned.learn('r', text(100), usage(8_100, 8_000), 20_000)
  const thought = (ms: number) => Math.round(thoughtTokens(ms, learned.of('r')))
  expect([thought(0), thought(5_000), thought(20_000), thought(600_000)]).toEqual([0, 2_000, 8_000, 8_000])
  expect(thoughtTokens(5_000, learned.of('other'))).toBe(0)
})

test('answers without text, without tokens and with images teach nothing', () => {
  const learned = new LearnedOutputs()
  learned.learn('r', text(0), usage(100))
  learned.learn('r', text(100), usage(0))
  learned.learn('r', { deltas: 1, bytes: 4, images: 1 }, usage(5_000))
  expect(learned.of('r')).toEqual({ ratio: 1, hidden: 0, thinkingMs: 0 })
})

test('an upstream that reports almost nothing does not make estimates worthless', () => {
  expect(after(Array(200).fill({ visible: 10_000, output: 1 }))(10_000)).toBe(1_000)
})

test('the number of routes is bounded', () => {
  const learned = new LearnedOutputs()
  for (let i = 0; i < 20_000; i++) learned.learn(`r${i}`, text(100), usage(200))
  expect(learned.of('r0').ratio).toBeGreaterThan(1)
  expect(learned.of('r19999')).toEqual({ ratio: 1, hidden: 0, thinkingMs: 0 })
})
