import { expect, it } from 'vitest'
import { effortOfBudget, nearestEffort } from './effort.ts'
import type { Effort } from './types.ts'

it.each<[Effort, Effort[], Effort | undefined]>([
  ['high', ['low', 'medium', 'high'], 'high'],
  ['max', ['low', 'high'], 'high'],
  ['medium', ['high', 'low'], 'low'],
  ['none', ['minimal', 'low'], 'minimal'],
  ['none', ['none', 'low'], 'none'],
  // Minimal thinking must not become none.
  ['minimal', ['none', 'low'], 'low'],
  ['low', ['none', 'max'], 'max'],
  ['low', ['none'], undefined],
  ['low', [], undefined],
])('%s becomes, out of %j, %s', (wanted, levels, nearest) => {
  expect(nearestEffort(wanted, levels)).toBe(nearest)
})

it.each<[number, Effort]>([
  [1024, 'low'],
  [2047, 'low'],
  [2048, 'medium'],
  [4095, 'medium'],
  [4096, 'high'],
  [64_000, 'high'],
])('%d tokens are %s', (tokens, effort) => {
  expect(effortOfBudget(tokens)).toBe(effort)
})
