import { describe, expect, test } from 'vitest'
import { zeroUsage } from '../../../contract/usage.ts'
import { mergeUsage, readTier, readUsage, writeUsage } from './usage.ts'

describe('readUsage', () => {
  test('kinds are disjoint: the input excludes cache reads and writes', () => {
    const value = {
      input_tokens: 50,
      cache_read_input_tokens: 40,
      cache_creation_input_tokens: 10,
      cache_creation: { ephemeral_5m_input_tokens: 7, ephemeral_1h_input_tokens: 3 },
      output_tokens: 30,
      output_tokens_details: { thinking_tokens: 12 },
    }
    const usage = {
      input: 50,
      cachedInput: 40,
      cacheWrite: 7,
      cacheWriteLong: 3,
      output: 30,
      reasoning: 12,
      images: 0,
    }
    expect(readUsage(value)).toEqual(usage)
    expect(writeUsage(usage)).toEqual(value)
  })

  test('web searches are counted beside the totals and the passes', () => {
    const server_tool_use = { web_search_requests: 3, web_fetch_requests: 9 }
    const value = { input_tokens: 5, output_tokens: 6, server_tool_use }
    expect(readUsage(value)).toEqual({ ...zeroUsage(), input: 5, output: 6, webSearch: 3 })
    const iterations = [{ type: 'message', input_tokens: 7, output_tokens: 8 }]
    expect(readUsage({ ...value, iterations })).toMatchObject({ input: 7, output: 8, webSearch: 3 })
  })

  test.each([
    ['only the totals', { input_tokens: 3, output_tokens: 4 }, { input: 3, output: 4 }],
    [
      'nulls',
      {
        input_tokens: 3,
        output_tokens: 4,
        cache_read_input_tokens: null,
        cache_creation: null,
        output_tokens_details: null,
      },
      { input: 3, output: 4 },
    ],
    [
      'cache writes reported only by lifetime',
      {
        input_tokens: 3,
        output_tokens: 4,
        cache_creation: { ephemeral_5m_input_tokens: 5, ephemeral_1h_input_tokens: 6 },
      },
      { input: 3, output: 4, cacheWrite: 5, cacheWriteLong: 6 },
    ],
    [
      'more thinking than output',
      { input_tokens: 3, output_tokens: 4, output_tokens_details: { thinking_tokens: 9 } },
      { input: 3, output: 4, reasoning: 4 },
    ],
    [
      'passes of the model and of compaction, without those of an adviser',
      {
        input_tokens: 612,
        output_tokens: 2819,
        output_tokens_details: { thinking_tokens: 5 },
        iterations: [
          { type: 'compaction', input_tokens: 60_385, output_tokens: 522, cache_read_input_tokens: 1 },
          { type: 'advisor_message', input_tokens: 7, output_tokens: 7 },
          { type: 'message', input_tokens: 612, output_tokens: 2819, cache_creation_input_tokens: 2 },
        ],
      },
      { input: 60_997, output: 3341, cachedInput: 1, cacheWrite: 2, reasoning: 5 },
    ],
    [
      'an answer of a fallback model',
      {
        input_tokens: 412,
        output_tokens: 264,
        iterations: [
          { type: 'message', input_tokens: 408, output_tokens: 0 },
          { type: 'fallback_message', input_tokens: 412, output_tokens: 264 },
        ],
      },
      { input: 412, output: 264 },
    ],
    [
      'invalid iterations',
      { input_tokens: 3, output_tokens: 4, iterations: [null, 1] },
      { input: 3, output: 4 },
    ],
  ])('%s', (_, value, expected) => {
    expect(readUsage(value)).toEqual({ ...zeroUsage(), ...expected })
  })

  test.each([
    null,
    [],
    { input_tokens: 3 },
    { output_tokens: 3 },
    { input_tokens: '3', output_tokens: 4 },
    { input_tokens: 3.5, output_tokens: 4 },
    { input_tokens: 3, output_tokens: 2e9 },
    { input_tokens: 3, output_tokens: 4, cache_read_input_tokens: 0.5 },
  ])('no usage in %j', (value) => {
    expect(readUsage(value)).toBeUndefined()
  })
})

test('counters of the delta replace those of the start, unless they are null', () => {
  const start = {
    input_tokens: 5,
    output_tokens: 1,
    cache_creation: { ephemeral_1h_input_tokens: 2 },
    service_tier: 'standard',
  }
  const delta = { input_tokens: null, output_tokens: 20, cache_creation_input_tokens: 2 }
  expect(mergeUsage(start, delta)).toEqual({ ...start, output_tokens: 20, cache_creation_input_tokens: 2 })
  expect(start.output_tokens).toBe(1)
  expect(mergeUsage(start, undefined)).toBe(start)
  expect(mergeUsage(null, delta)).toEqual({ output_tokens: 20, cache_creation_input_tokens: 2 })
})

test.each([
  [{ service_tier: 'standard' }, 'default'],
  [{ service_tier: 'priority' }, 'priority'],
  [{ service_tier: 'standard', speed: 'fast' }, 'fast'],
  [{ service_tier: null, speed: 'standard' }, undefined],
  [undefined, undefined],
])('the tier of %j is %s', (usage, tier) => {
  expect(readTier(usage)).toBe(tier)
})
