import fc from 'fast-check'
import { expect, test } from 'vitest'
import { cost, parseDollars } from '../../../contract/money.ts'
import type { RouteRecord } from '../../../contract/table/records.ts'
import { zeroUsage } from '../../../contract/usage.ts'
import { anyPrice, testPrice } from '../../ledger/testing.ts'
import { addedOutputLimit } from './output-limit.ts'

/** A micro-dollar for each output token. */
const price = testPrice({ input: '1', output: '1' })
const testRoute = (): RouteRecord => ({
  name: 'm',
  model: 'm',
  created: 0,
  targets: [],
  affinity: { mode: 'None', ttlMs: 0 },
  retry: { attempts: 1, on: [] },
  conversion: { unsupported: 'Drop' },
  rewriteModel: false,
  free: false,
  display: {},
})
const head = { model: 'm', stream: false, choices: 1, wantsStreamUsage: false, input: {} as never }
const funds = (tokens: number) => parseDollars('0.000001') * tokens

test('what is held and what the free funds buy is the limit, where that is less than the context', () => {
  const route = { ...testRoute(), price, contextLength: 10_000 }
  expect(addedOutputLimit(route, head, funds(1_000))).toBe(5_096)
  expect(addedOutputLimit(route, head, 0)).toBe(4_096)
  expect(addedOutputLimit(route, head, -funds(50))).toBe(4_096)
  expect(addedOutputLimit(route, head, funds(10_000 - 4_096))).toBeUndefined()
  expect(addedOutputLimit({ ...route, maxOutputTokens: 100 }, head, funds(1_000))).toBe(1_100)
})

test('an account that can pay for 128,000 tokens is not limited on a route without a context length', () => {
  const route = { ...testRoute(), price }
  expect(addedOutputLimit(route, head, funds(128_000 - 4_096 - 1))).toBe(127_999)
  expect(addedOutputLimit(route, head, funds(128_000 - 4_096))).toBeUndefined()
})

test('several answers share the funds', () => {
  const route = { ...testRoute(), price }
  expect(addedOutputLimit(route, { ...head, choices: 4 }, funds(1_000))).toBe(4_346)
})

test('a tier that costs more buys less', () => {
  const dear = { ...price, multipliers: { priority: 2_000_000_000 } }
  const route = { ...testRoute(), price: dear }
  expect(addedOutputLimit(route, { ...head, tier: 'priority' }, funds(1_000))).toBe(4_596)
  expect(addedOutputLimit(route, head, funds(1_000))).toBe(5_096)
})

test('Held sends what is held, None nothing', () => {
  const route = { ...testRoute(), price }
  expect(addedOutputLimit({ ...route, outputLimit: 'Held' }, head, funds(1_000_000))).toBe(4_096)
  expect(addedOutputLimit({ ...route, outputLimit: 'None' }, head, 0)).toBeUndefined()
})

test('a client’s own limit, images, an unknown balance and free output need none', () => {
  const route = { ...testRoute(), price }
  expect(addedOutputLimit(route, { ...head, maxOutputTokens: 900_000 }, 0)).toBeUndefined()
  expect(addedOutputLimit(route, { ...head, images: 1 }, 0)).toBeUndefined()
  expect(addedOutputLimit(route, head, undefined)).toBeUndefined()
  expect(
    addedOutputLimit({ ...route, price: testPrice({ input: '1', output: '0' }) }, head, 0),
  ).toBeUndefined()
  const { price: _, ...unpriced } = route
  expect(addedOutputLimit(unpriced, head, 0)).toBeUndefined()
})

test('an answer within the limit never costs more than is held and free', () => {
  const choices = fc.integer({ min: 1, max: 8 })
  fc.assert(
    fc.property(anyPrice, fc.nat(1e12), choices, fc.nat(50_000), (any, free, n, maxOutputTokens) => {
      const route = { ...testRoute(), price: any, maxOutputTokens: maxOutputTokens + 1 }
      const limit = addedOutputLimit(route, { ...head, choices: n }, free)
      if (limit === undefined) return
      const output = (tokens: number) => cost(any, { ...zeroUsage(), output: tokens })
      const held = output((maxOutputTokens + 1) * n)
      // Rounding up: a nano-dollar each.
      expect(output(limit * n)).toBeLessThanOrEqual(held + free + 2)
    }),
  )
})
