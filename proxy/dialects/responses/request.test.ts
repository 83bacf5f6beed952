import { describe, expect, test } from 'vitest'
import { splice } from '../core/json/model-splice.ts'
import { parseRequest } from './request.ts'

const LIMITS = { maxDepth: 64, maxKeys: 1000 }
const parseText = (text: string) => parseRequest(Buffer.from(text), LIMITS)
const parse = (fields: object) => parseText(JSON.stringify({ model: 'm', input: 'Hi', ...fields }))
const headOf = (fields: object) => parse(fields).head

describe('the head', () => {
  test('of a minimal request', () => {
    expect(headOf({})).toEqual({
      model: 'm',
      stream: false,
      choices: 1,
      wantsStreamUsage: false,
      input: { textBytes: 2, images: 0, audioBytes: 0, fileBytes: 0, tools: 0 },
    })
  })

  test('of a request with all fields', () => {
    const head = headOf({ stream: true, max_output_tokens: 7, service_tier: 'priority' })
    expect(head).toMatchObject({ stream: true, maxOutputTokens: 7, tier: 'priority' })
  })

  test.each(['auto', 'default', ''])('tier %j changes nothing', (tier) => {
    expect(headOf({ service_tier: tier })).not.toHaveProperty('tier')
  })
})

describe('input may be absent', () => {
  test.each([{ previous_response_id: 'r' }, { conversation: 'c' }, { prompt: { id: 'p' } }])(
    'beside %j',
    (fields) => {
      expect(() => parse({ ...fields, input: undefined })).not.toThrow()
      expect(() => parse({ ...fields, input: [] })).not.toThrow()
    },
  )
})

test('a request that only prepares its conversation may have empty input', () => {
  const prepare = (text: string) => parseRequest(Buffer.from(text), { ...LIMITS, mayBeEmpty: true })
  for (const input of ['', ',"input":[]', ',"input":null'])
    expect(prepare(`{"model":"m"${input}}`).head.model).toBe('m')
  expect(() => prepare('{"model":"m","input":{}}')).toThrow(expect.objectContaining({ param: 'input' }))
})

describe('refused', () => {
  test.each<[string, string, object]>([
    ['model', 'invalid_request', { model: '' }],
    ['input', 'invalid_request', { input: undefined }],
    ['input', 'invalid_request', { input: null, previous_response_id: null }],
    ['input', 'invalid_request', { input: [] }],
    ['input', 'invalid_request', { input: { role: 'user' } }],
    ['input[1]', 'invalid_request', { input: [{ role: 'user', content: 'x' }, 'x'] }],
    ['stream', 'invalid_request', { stream: 'yes' }],
    ['max_output_tokens', 'invalid_request', { max_output_tokens: 1.5 }],
    ['tools', 'invalid_request', { tools: {} }],
    ['tools[0]', 'invalid_request', { tools: ['f'] }],
    ['instructions', 'invalid_request', { instructions: ['x'] }],
    ['service_tier', 'invalid_request', { service_tier: 1 }],
    ['background', 'invalid_request', { background: 'true' }],
    ['background', 'unsupported_parameter', { background: true }],
  ])('%s: %s', (param, code, fields) => {
    expect(() => parse(fields)).toThrow(expect.objectContaining({ code, param, status: 400 }))
  })

  test.each(['{"model":"m","input":"a","input":"b"}', '{"model":"m","\\u0069nput":"a"}'])('%s', (text) => {
    expect(() => parseText(text)).toThrow(expect.objectContaining({ param: 'input' }))
  })
})

describe('the weight of the input', () => {
  const weigh = (fields: object) => headOf(fields).input

  test('text of items, parts and instructions in bytes', () => {
    const input = [
      { role: 'user', content: [{ type: 'input_text', text: 'é' }] },
      { type: 'function_call', id: 'fc_1', call_id: 'call_1', name: 'f', arguments: '{}' },
      { type: 'function_call_output', call_id: 'call_1', output: 'abc' },
    ]
    expect(weigh({ input, instructions: 'four' }).textBytes).toBe(2 + 3 + 3 + 4)
  })

  test('media are counted by kind', () => {
    const content = [
      { type: 'input_image', image_url: 'data:image/png;base64,AAAA' },
      { type: 'input_image', file_id: 'f' },
      { type: 'input_file', filename: 'n', file_data: 'data:application/pdf;base64,AAAAAA==' },
      { type: 'input_audio', input_audio: { data: 'AAAA', format: 'wav' } },
    ]
    const size = { textBytes: 1, images: 2, audioBytes: 3, fileBytes: 4, tools: 0 }
    expect(weigh({ input: [{ role: 'user', content }] })).toEqual(size)
  })

  test('tools and the format count as JSON', () => {
    const fields = { tools: [{ type: 'function', name: 'f' }], text: { verbosity: 'low' } }
    const bytes = Object.values(fields).map((value) => JSON.stringify(value).length)
    expect(weigh(fields)).toMatchObject({ tools: 1, textBytes: 2 + bytes.reduce((a, b) => a + b) })
  })
})

describe('splicing', () => {
  const edits = (model: string) => ({ model, addStreamUsage: true })

  test('changes only the model', () => {
    const request = parseText('{ "x" : 1.50, "model" : "m" ,"input":"a" }')
    expect(splice(request, edits('up"stream')).toString()).toBe(
      '{ "x" : 1.50, "model" : "up\\"stream" ,"input":"a" }',
    )
  })

  test('returns the same body for the same model', () => {
    const request = parse({})
    expect(splice(request, edits('m'))).toBe(request.body)
  })
})
