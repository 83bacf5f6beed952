import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import '../index.ts'
import { readAnswer } from './answer.ts'
import { parseRequest } from './request.ts'

const LIMITS = { maxDepth: 9, maxKeys: 99 }
/** 1 and -2.5 as little-endian float32. */
const BASE64 = 'AACAPwAAIMA='
const NUMBERS = [1, -2.5]
const USAGE = { prompt_tokens: 4, total_tokens: 4 }

function read(answer: unknown, fields: object = {}) {
  const request = parseRequest(Buffer.from(JSON.stringify({ model: 'm', input: 'a', ...fields })), LIMITS)
  const text = typeof answer === 'string' ? answer : JSON.stringify(answer)
  const body = Buffer.from(text)
  const result = readAnswer(body, request)
  return { result, body, text: 'body' in result ? result.body.toString() : undefined }
}

function entry(index: number | null | undefined, embedding: unknown) {
  return { object: 'embedding', index, embedding }
}

function list(...data: unknown[]) {
  return { object: 'list', data, model: 'up', usage: USAGE }
}

/** The vectors that a client reads. */
function vectors(text: string | undefined): unknown[] {
  return JSON.parse(text ?? '').data.map(({ embedding }: { embedding: unknown }) => embedding)
}

describe('bytes pass', () => {
  test.each([
    ['numbers', entry(0, NUMBERS), {}],
    ['numbers that the client requested', entry(0, NUMBERS), { encoding_format: 'float' }],
    ['base64', entry(0, BASE64), { encoding_format: 'base64' }],
    ['whole numbers', entry(0, [0, 1, -1]), {}],
    ['no index', entry(undefined, NUMBERS), {}],
    ['a null for an index', entry(null, NUMBERS), {}],
    ['numbers of another type', entry(0, [1, 0, 127]), { encoding_format: 'base64', output_dtype: 'int8' }],
    ['bytes of another type', entry(0, 'AQAB'), { encoding_format: 'base64', output_dtype: 'int8' }],
    ['bytes of another type that the client did not request', entry(0, 'AQAB'), { embed_dtype: 'float16' }],
  ])('with %s', (_, only, fields) => {
    const { result, body } = read(JSON.stringify(list(only), null, 1), fields)
    if (!('body' in result)) throw new Error(result.detail)
    expect(result.body).toBe(body)
    expect(result.delivered).toEqual({ deltas: 0, bytes: 0 })
  })

  test('exactly, including the notation of numbers', () => {
    const text = '{ "data":[ {"embedding":[1.50, -0.0,\n1E-3],"index":0} ] ,"object":"list"}'
    expect(read(text).text).toBe(text)
  })

  test.each([
    ['in order', [0, 1, 2]],
    ['without indexes', [undefined, undefined, undefined]],
    ['with null indexes', [null, null, null]],
    ['from protocol buffers, which leave out a zero', [undefined, 1, 2]],
  ])('of several vectors %s', (_, indexes) => {
    const answer = list(...indexes.map((index, i) => entry(index, [i])))
    expect(read(answer, { input: ['a', 'b', 'c'] }).text).toBe(JSON.stringify(answer))
  })
})

describe('usage', () => {
  const none = { cachedInput: 0, cacheWrite: 0, cacheWriteLong: 0, output: 0, reasoning: 0, images: 0 }
  test.each([
    [USAGE, { ...none, input: 4 }],
    [{ total_tokens: 3 }, { ...none, input: 3 }],
    [
      { prompt_tokens: 5, completion_tokens: 0, total_tokens: 6 },
      { ...none, input: 5 },
    ],
    [
      { prompt_tokens: null, total_tokens: 6 },
      { ...none, input: 6 },
    ],
    [{ prompt_tokens: -1 }, undefined],
    [{ prompt_tokens: 1.5 }, undefined],
    [{}, undefined],
    [null, undefined],
    [undefined, undefined],
  ])('%j', (usage, expected) => {
    const { result } = read({ ...list(entry(0, NUMBERS)), usage })
    expect('body' in result ? result.usage : 'none').toEqual(expected)
  })

  test('is reported for a rewritten answer', () => {
    const { result } = read(list(entry(0, BASE64)))
    expect(result).toMatchObject({ usage: { input: 4 }, delivered: { deltas: 0, bytes: 0 } })
  })
})

describe('rewritten', () => {
  test('numbers become base64', () => {
    const { text } = read(list(entry(0, NUMBERS)), { encoding_format: 'base64' })
    expect(JSON.parse(text ?? '')).toEqual(list(entry(0, BASE64)))
  })

  test.each([{}, { encoding_format: 'float' }, { encoding_format: null }])(
    'base64 becomes numbers for %j',
    (fields) => {
      const { text } = read(list(entry(0, BASE64)), fields)
      expect(JSON.parse(text ?? '')).toEqual(list(entry(0, NUMBERS)))
    },
  )

  test('a mixture gets the requested encoding', () => {
    const answer = list(entry(0, BASE64), entry(1, NUMBERS))
    const input = ['a', 'b']
    expect(vectors(read(answer, { input }).text)).toEqual([NUMBERS, NUMBERS])
    expect(vectors(read(answer, { input, encoding_format: 'base64' }).text)).toEqual([BASE64, BASE64])
  })

  test('vectors get the order of their inputs and keep their other fields', () => {
    const { text } = read(
      '{"object":"list","data":[{"index":2,"embedding":[2]},{"embedding":[-0.0,0.1],"index":0,"note":"n"},' +
        '{"index":1,"embedding":[1.5]}],"model":"up","x":{}}',
      { input: ['a', 'b', 'c'] },
    )
    expect(text).toBe(
      '{"object":"list","data":[{"embedding":[-0.0,0.1],"index":0,"note":"n"},' +
        '{"index":1,"embedding":[1.5]},{"index":2,"embedding":[2]}],"model":"up","x":{}}',
    )
  })

  test('every vector has an index, even if the upstream sent none', () => {
    const input = ['a', 'b']
    const sorted = read(list(entry(1, [1]), entry(undefined, [0])), { input }).text
    expect(JSON.parse(sorted ?? '')).toEqual(list(entry(0, [0]), entry(1, [1])))
    const decoded = read(list(entry(undefined, BASE64), entry(undefined, BASE64)), { input }).text
    expect(JSON.parse(decoded ?? '')).toEqual(list(entry(0, NUMBERS), entry(1, NUMBERS)))
  })

  test('any order of any number of vectors', () => {
    const orders = fc
      .integer({ min: 1, max: 60 })
      .chain((n) => fc.shuffledSubarray([...Array(n).keys()], { minLength: n, maxLength: n }))
    fc.assert(
      fc.property(orders, fc.boolean(), (order, packed) => {
        const answer = list(...order.map((i) => entry(i, [i, 0.5])))
        const fields = { input: order.map(String), encoding_format: packed ? 'base64' : 'float' }
        const got = vectors(read(answer, fields).text)
        const expected = [...order.keys()].map((i) => {
          const bytes = Buffer.alloc(8)
          bytes.writeFloatLE(i, 0)
          bytes.writeFloatLE(0.5, 4)
          return packed ? bytes.toString('base64') : [i, 0.5]
        })
        expect(got).toEqual(expected)
      }),
    )
  })
})

describe('failures', () => {
  const two = { input: ['a', 'b'] }
  test.each([
    ['no JSON', '<html>', {}, 'no_answer'],
    ['cut JSON', '{"data":[{"index":0,"embedding":[1', {}, 'no_answer'],
    ['a bare list', [entry(0, NUMBERS)], {}, 'no_answer'],
    ['a completion', { choices: [] }, {}, 'no_answer'],
    ['no list', { object: 'list', data: {} }, {}, 'no_answer'],
    ['nothing', list(), {}, 'wrong_count'],
    ['too few', list(entry(0, NUMBERS)), two, 'wrong_count'],
    ['too many', list(entry(0, NUMBERS), entry(1, NUMBERS)), {}, 'wrong_count'],
    ['a null among them', list(entry(0, NUMBERS), null), two, 'wrong_count'],
    ['one more that is null', list(entry(0, NUMBERS), null), {}, 'wrong_count'],
    ['an index twice', list(entry(0, NUMBERS), entry(0, NUMBERS)), two, 'wrong_indexes'],
    ['an index past the inputs', list(entry(0, NUMBERS), entry(2, NUMBERS)), two, 'wrong_indexes'],
    ['indexes from one', list(entry(1, NUMBERS), entry(2, NUMBERS)), two, 'wrong_indexes'],
    ['a negative index', list(entry(0, NUMBERS), entry(-1, NUMBERS)), two, 'wrong_indexes'],
    [
      'an index that is text',
      list(entry(0, NUMBERS), { index: '1', embedding: NUMBERS }),
      two,
      'wrong_indexes',
    ],
    ['an index missing', list(entry(0, NUMBERS), entry(undefined, NUMBERS)), two, 'wrong_indexes'],
    ['the only index wrong', list(entry(1, NUMBERS)), {}, 'wrong_indexes'],
    ['no vector', list({ index: 0 }), {}, 'no_vectors'],
    ['an empty vector', list(entry(0, [])), {}, 'no_vectors'],
    ['a number missing', list(entry(0, [1, null])), {}, 'no_vectors'],
    ['a vector for each token', list(entry(0, [NUMBERS])), {}, 'no_vectors'],
    ['a second entry without a vector', list(entry(0, NUMBERS), entry(1, null)), two, 'no_vectors'],
    ['broken base64', list(entry(0, 'AACAP')), {}, 'no_vectors'],
    ['broken base64, as requested', list(entry(0, 'AACAP')), { encoding_format: 'base64' }, 'no_vectors'],
    ['numbers past float32', list(entry(0, [1e300])), { encoding_format: 'base64' }, 'no_vectors'],
    ['an empty text of another type', list(entry(0, '')), { output_dtype: 'int8' }, 'no_vectors'],
  ])('%s', (_, answer, fields, detail) => {
    expect(read(answer, fields).result).toEqual({ class: 'unknown', status: 200, detail })
  })

  test('an error body under status 200 is an error', () => {
    const error = { message: 'secret of the upstream', type: 'rate_limit_error', code: 'rate_limit_exceeded' }
    const { result } = read({ error })
    expect(result).toMatchObject({ class: 'rate_limit', status: 200, detail: 'error_in_answer' })
    expect(JSON.stringify(result)).not.toContain('secret')
  })

  test('an error beside vectors is an error', () => {
    expect(read({ ...list(entry(0, NUMBERS)), error: { message: 'x' } }).result).toMatchObject({
      detail: 'error_in_answer',
    })
  })

  test('an answer that is too deep to rewrite', () => {
    const deep = `${'['.repeat(100_000)}${']'.repeat(100_000)}`
    const answer = `{"data":[{"index":0,"embedding":"${BASE64}"}],"x":${deep}}`
    expect(read(answer).result).toEqual({ class: 'unknown', status: 200, detail: 'unwritable_answer' })
  })
})
