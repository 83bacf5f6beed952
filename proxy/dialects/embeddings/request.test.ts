import { describe, expect, test } from 'vitest'
import { splice } from '../core/json/model-splice.ts'
import { parseRequest } from './request.ts'

const LIMITS = { maxDepth: 64, maxKeys: 1000 }
const PLAIN = { model: 'm', input: 'Grüße' }

function parse(body: object | string) {
  return parseRequest(Buffer.from(typeof body === 'string' ? body : JSON.stringify(body)), LIMITS)
}

describe('the head', () => {
  test('of a plain request', () => {
    expect(parse(PLAIN).head).toEqual({
      model: 'm',
      stream: false,
      maxOutputTokens: 0,
      choices: 1,
      wantsStreamUsage: false,
      input: { textBytes: 7, images: 0, audioBytes: 0, fileBytes: 0, tools: 0 },
    })
  })

  test('counts the bytes of all texts', () => {
    const { input } = parse({ model: 'm', input: ['four', 'é', ''] }).head
    expect(input).toMatchObject({ textBytes: 6 })
    expect(input.tokens).toBeUndefined()
  })

  test.each([
    [[1, 2, 3], 3],
    [[[1, 2], [3], []], 3],
    [[0], 1],
  ])('knows the tokens of %j exactly', (input, tokens) => {
    expect(parse({ model: 'm', input }).head.input).toMatchObject({ textBytes: 0, tokens })
  })
})

describe('the required answer', () => {
  test.each([
    [{}, { count: 1, encoding: 'float', ownNumbers: false }],
    [{ encoding_format: null }, { count: 1, encoding: 'float', ownNumbers: false }],
    [
      { encoding_format: 'float', stream: false },
      { count: 1, encoding: 'float', ownNumbers: false },
    ],
    [
      { encoding_format: 'base64', dimensions: 256 },
      { count: 1, encoding: 'base64', ownNumbers: false },
    ],
    [{ input: ['a', 'b', 'c'] }, { count: 3, encoding: 'float', ownNumbers: false }],
    [{ input: ['a'] }, { count: 1, encoding: 'float', ownNumbers: false }],
    [{ input: [7, 8, 9] }, { count: 1, encoding: 'float', ownNumbers: false }],
    [{ input: [[7, 8, 9], [1]] }, { count: 2, encoding: 'float', ownNumbers: false }],
    [{ output_dtype: 'int8' }, { count: 1, encoding: 'float', ownNumbers: true }],
    [{ embed_dtype: 'float16' }, { count: 1, encoding: 'float', ownNumbers: true }],
    [{ endianness: 'big' }, { count: 1, encoding: 'float', ownNumbers: true }],
    [{ output_dtype: null }, { count: 1, encoding: 'float', ownNumbers: false }],
  ])('%j', (fields, wanted) => {
    const request = parse({ ...PLAIN, ...fields })
    expect(request.own.wanted).toEqual(wanted)
  })
})

describe('refused', () => {
  test.each<[object, string]>([
    [{ input: 'x' }, 'model'],
    [{ model: '', input: 'x' }, 'model'],
    [{ model: 'm' }, 'input'],
    [{ model: 'm', input: null }, 'input'],
    [{ model: 'm', input: 7 }, 'input'],
    [{ model: 'm', input: { text: 'x' } }, 'input'],
    [{ model: 'm', input: [] }, 'input'],
    [{ model: 'm', input: [null] }, 'input[0]'],
    [{ model: 'm', input: ['a', 'b', 'c', 1] }, 'input[3]'],
    [{ model: 'm', input: ['a', ['b']] }, 'input[1]'],
    [{ model: 'm', input: [1, 2, 'c'] }, 'input[2]'],
    [{ model: 'm', input: [1, -2] }, 'input[1]'],
    [{ model: 'm', input: [1.5] }, 'input[0]'],
    [{ model: 'm', input: [1, 1e300] }, 'input[1]'],
    [{ model: 'm', input: [[1], 2] }, 'input[1]'],
    [{ model: 'm', input: [[1], 'b'] }, 'input[1]'],
    [{ model: 'm', input: [[1], [2, null]] }, 'input[1][1]'],
    [{ model: 'm', input: Array(2049).fill('a') }, 'input'],
    [{ model: 'm', input: Array(2049).fill([1]) }, 'input'],
    [{ ...PLAIN, encoding_format: 'bytes' }, 'encoding_format'],
    [{ ...PLAIN, encoding_format: ['float'] }, 'encoding_format'],
    [{ ...PLAIN, dimensions: 0 }, 'dimensions'],
    [{ ...PLAIN, dimensions: 1.5 }, 'dimensions'],
    [{ ...PLAIN, dimensions: '256' }, 'dimensions'],
    [{ ...PLAIN, stream: 'yes' }, 'stream'],
  ])('%.60j names %s', (body, param) => {
    expect(() => parse(body)).toThrow(
      expect.objectContaining({ code: 'invalid_request', status: 400, param }),
    )
  })

  test('a stream, which embeddings do not have', () => {
    expect(() => parse({ ...PLAIN, stream: true })).toThrow(
      expect.objectContaining({ code: 'unsupported_parameter', param: 'stream' }),
    )
  })

  test.each(['input', 'model', 'encoding_format', 'stream', 'dimensions', 'output_dtype'])(
    '%s that occurs twice: the upstream might read the other one',
    (key) => {
      const body = `{"model":"m","input":"a","${key}":null,"${key}":null}`
      expect(() => parse(body)).toThrow(expect.objectContaining({ code: 'invalid_request', param: key }))
    },
  )
})

test('2048 inputs are allowed, and more tokens in one input', () => {
  expect(parse({ model: 'm', input: Array(2048).fill('a') }).own.wanted.count).toBe(2048)
  expect(parse({ model: 'm', input: Array(9000).fill(1) }).head.input.tokens).toBe(9000)
})

test('splicing changes only the model and keeps unknown fields', () => {
  const request = parse('{ "input_type":"query", "model" : "m",\n"input":["a"],"x":1e2 }')
  expect(splice(request, { model: 'text-9', addStreamUsage: false }).toString()).toBe(
    '{ "input_type":"query", "model" : "text-9",\n"input":["a"],"x":1e2 }',
  )
})
