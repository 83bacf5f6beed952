import { describe, expect, test } from 'vitest'
import { zeroUsage } from '../../../contract/usage.ts'
import { imagesIn, readUsage, usageOf, writeUsage } from './usage.ts'

const WIRE = {
  input_tokens: 100,
  input_tokens_details: { cached_tokens: 40, cache_write_tokens: 10 },
  output_tokens: 30,
  output_tokens_details: { reasoning_tokens: 12 },
  total_tokens: 130,
}
const USAGE = { ...zeroUsage(), input: 50, cachedInput: 40, cacheWrite: 10, output: 30, reasoning: 12 }

test('cached tokens are separate from the input, and part of it again when written', () => {
  expect(readUsage(WIRE)).toEqual(USAGE)
  expect(writeUsage(USAGE)).toEqual(WIRE)
})

test('calls of hosted tools are counted in the output, opened pages are not', () => {
  const output = [
    { type: 'web_search_call', action: { type: 'search', query: 'a' } },
    { type: 'web_search_call', action: { type: 'open_page', url: 'b' } },
    { type: 'web_search_call' },
    { type: 'file_search_call' },
    { type: 'code_interpreter_call' },
    { type: 'function_call', name: 'web_search_call' },
    { type: 'constructor' },
    null,
  ]
  expect(usageOf({ usage: WIRE, output })).toEqual({
    ...USAGE,
    webSearch: 2,
    fileSearch: 1,
    codeInterpreter: 1,
  })
  expect(usageOf({ usage: WIRE, output: 'x' })).toEqual(USAGE)
  expect(usageOf({ output })).toBeUndefined()
})

test('long cache writes are counted separately', () => {
  const details = {
    cached_tokens: 0,
    cache_write_tokens: 10,
    cache_write_tokens_details: { ttl_30m_tokens: 3, ttl_12h_tokens: 7 },
  }
  const usage = { ...zeroUsage(), input: 90, cacheWrite: 3, cacheWriteLong: 7, output: 30, reasoning: 12 }
  const wire = { ...WIRE, input_tokens_details: details }
  expect(readUsage(wire)).toEqual(usage)
  expect(writeUsage(usage)).toEqual(wire)
})

test('details may be absent', () => {
  const usage = { ...zeroUsage(), input: 5, output: 2 }
  expect(readUsage({ input_tokens: 5, output_tokens: 2 })).toEqual(usage)
  expect(writeUsage(usage)).toEqual({
    input_tokens: 5,
    input_tokens_details: { cached_tokens: 0, cache_write_tokens: 0 },
    output_tokens: 2,
    output_tokens_details: { reasoning_tokens: 0 },
    total_tokens: 7,
  })
})

test('parts never exceed their whole', () => {
  const details = { cached_tokens: 8, cache_write_tokens: 8 }
  const wire = { ...WIRE, input_tokens: 10, input_tokens_details: details, output_tokens: 5 }
  expect(readUsage(wire)).toEqual({ ...zeroUsage(), cachedInput: 8, cacheWrite: 2, output: 5, reasoning: 5 })
})

describe('no usage', () => {
  test.each([
    [null],
    ['x'],
    [{}],
    [{ input_tokens: 1 }],
    [{ output_tokens: 1 }],
    [{ ...WIRE, input_tokens: -1 }],
    [{ ...WIRE, output_tokens: 1.5 }],
    [{ ...WIRE, input_tokens: 1e10 }],
    [{ ...WIRE, output_tokens_details: { reasoning_tokens: 0.5 } }],
  ])('%j', (value) => {
    expect(readUsage(value)).toBeUndefined()
  })
})

test('only finished images are counted', () => {
  const made = { type: 'image_generation_call', id: 'ig_1', status: 'completed', result: 'aGk=' }
  const others = [
    { ...made, result: null },
    { ...made, result: '' },
    { type: 'message', result: 'aGk=' },
    null,
  ]
  expect(imagesIn([made, ...others, made])).toEqual({ images: 2 })
  expect(imagesIn([made, { ...made, size: '1x2', quality: 'auto' }])).toEqual({
    images: 2,
    imageKind: { size: '1x2' },
  })
  expect(imagesIn(undefined)).toEqual({})
})
