import fc from 'fast-check'
import { expect, test } from 'vitest'
import { totalInput } from '../../../contract/usage.ts'
import { readUsage, writeUsage } from './usage.ts'

const NONE = {
  input: 0,
  cachedInput: 0,
  cacheWrite: 0,
  cacheWriteLong: 0,
  output: 0,
  reasoning: 0,
  images: 0,
}

test.each<[string, unknown, object | undefined]>([
  ['plain', { prompt_tokens: 10, completion_tokens: 4, total_tokens: 14 }, { input: 10, output: 4 }],
  ['explicit zeros', { prompt_tokens: 0, completion_tokens: 0 }, {}],
  [
    'caches and reasoning are parts of the totals',
    {
      prompt_tokens: 100,
      completion_tokens: 50,
      prompt_tokens_details: { cached_tokens: 60, cache_write_tokens: 30 },
      completion_tokens_details: { reasoning_tokens: 45 },
    },
    { input: 10, cachedInput: 60, cacheWrite: 30, output: 50, reasoning: 45 },
  ],
  [
    'DeepSeek’s own cache field',
    { prompt_tokens: 9, completion_tokens: 1, prompt_cache_hit_tokens: 8 },
    { input: 1, cachedInput: 8, output: 1 },
  ],
  [
    'Mistral’s own cache field',
    { prompt_tokens: 9, completion_tokens: 1, num_cached_tokens: 7 },
    { input: 2, cachedInput: 7, output: 1 },
  ],
  [
    'reasoning outside the completion, according to the total',
    {
      prompt_tokens: 12,
      completion_tokens: 1,
      total_tokens: 241,
      completion_tokens_details: { reasoning_tokens: 228 },
    },
    { input: 12, output: 229, reasoning: 228 },
  ],
  [
    'more cached tokens than prompt tokens',
    { prompt_tokens: 5, completion_tokens: 1, prompt_tokens_details: { cached_tokens: 9 } },
    { cachedInput: 5, output: 1 },
  ],
  [
    'cache writes with a long lifetime',
    {
      prompt_tokens: 100,
      completion_tokens: 1,
      prompt_tokens_details: {
        cache_write_tokens: 30,
        cache_write_tokens_details: { ttl_30m_tokens: 10, ttl_12h_tokens: 20 },
      },
    },
    { input: 70, cacheWrite: 10, cacheWriteLong: 20, output: 1 },
  ],
  [
    'more long-lived cache writes than cache writes',
    {
      prompt_tokens: 100,
      completion_tokens: 1,
      prompt_tokens_details: {
        cached_tokens: 95,
        cache_write_tokens: 30,
        cache_write_tokens_details: { ttl_12h_tokens: 40 },
      },
    },
    { cachedInput: 95, cacheWriteLong: 5, output: 1 },
  ],
  ['a billion', { prompt_tokens: 1e9, completion_tokens: 1e9 }, { input: 1e9, output: 1e9 }],
  ['too large a prompt', { prompt_tokens: 1e9 + 1, completion_tokens: 1 }, undefined],
  ['too large a completion', { prompt_tokens: 1, completion_tokens: 1e9 + 1 }, undefined],
  ...[1e9 + 1, 0.5, Infinity].flatMap((count): [string, unknown, undefined][] =>
    [
      { prompt_tokens_details: { cached_tokens: count } },
      { prompt_tokens_details: { cache_write_tokens: count } },
      { prompt_tokens_details: { cache_write_tokens_details: { ttl_12h_tokens: count } } },
      { completion_tokens_details: { reasoning_tokens: count } },
      { prompt_cache_hit_tokens: count },
      { num_cached_tokens: count },
    ].map((part) => [
      `${count} in ${JSON.stringify(part)}`,
      { prompt_tokens: 5, completion_tokens: 1, ...part },
      undefined,
    ]),
  ),
  [
    'broken details',
    {
      prompt_tokens: 5,
      completion_tokens: 1,
      prompt_tokens_details: { cached_tokens: -2 },
      completion_tokens_details: 'x',
    },
    { input: 5, output: 1 },
  ],
  [
    'audio and images, which are parts of the totals',
    {
      prompt_tokens: 50,
      completion_tokens: 30,
      prompt_tokens_details: { audio_tokens: 20, image_tokens: 5, text_tokens: 25 },
      completion_tokens_details: { audio_tokens: 18, text_tokens: 12 },
    },
    { input: 50, audioInput: 20, imageInput: 5, output: 30, audioOutput: 18 },
  ],
  [
    'a fraction of audio',
    { prompt_tokens: 5, completion_tokens: 1, prompt_tokens_details: { audio_tokens: 0.5 } },
    undefined,
  ],
  ['null', null, undefined],
  ['empty', {}, undefined],
  ['a negative total', { prompt_tokens: 5, completion_tokens: -1 }, undefined],
  ['a fraction', { prompt_tokens: 5.5, completion_tokens: 1 }, undefined],
  ['text', { prompt_tokens: '5', completion_tokens: 1 }, undefined],
])('%s', (_, usage, expected) => {
  expect(readUsage(usage)).toEqual(expected && { ...NONE, ...expected })
})

test('for any numbers, every kind is an integer and the input adds up', () => {
  const number = fc.oneof(fc.integer(), fc.double(), fc.constantFrom(null, undefined, '7', {}))
  const shape = fc.record({
    prompt_tokens: number,
    completion_tokens: number,
    total_tokens: number,
    prompt_tokens_details: fc.oneof(
      number,
      fc.record({
        cached_tokens: number,
        cache_write_tokens: number,
        cache_write_tokens_details: fc.record({ ttl_12h_tokens: number }),
      }),
    ),
    completion_tokens_details: fc.oneof(number, fc.record({ reasoning_tokens: number })),
  })
  fc.assert(
    fc.property(shape, (value) => {
      const usage = readUsage(value)
      if (usage === undefined) return
      for (const count of Object.values(usage)) expect(Number.isSafeInteger(count) && count >= 0).toBe(true)
      expect(totalInput(usage) === value.prompt_tokens).toBe(true)
    }),
  )
})

test('audio and images are written where they are read', () => {
  const usage = { ...NONE, input: 50, audioInput: 20, imageInput: 5, output: 30, audioOutput: 18 }
  expect(readUsage(JSON.parse(JSON.stringify(writeUsage(usage))))).toEqual(usage)
})

test('written usage is read back unchanged', () => {
  const usage = {
    ...NONE,
    input: 1,
    cachedInput: 2,
    cacheWrite: 3,
    cacheWriteLong: 4,
    output: 9,
    reasoning: 5,
  }
  expect(writeUsage(usage)).toEqual({
    prompt_tokens: 10,
    completion_tokens: 9,
    total_tokens: 19,
    prompt_tokens_details: {
      cached_tokens: 2,
      cache_write_tokens: 7,
      cache_write_tokens_details: { ttl_30m_tokens: 3, ttl_12h_tokens: 4 },
    },
    completion_tokens_details: { reasoning_tokens: 5 },
  })
  expect(readUsage(writeUsage(usage))).toEqual(usage)
})
