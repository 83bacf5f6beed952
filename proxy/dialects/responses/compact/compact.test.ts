import { describe, expect, it } from 'vitest'
import '../../index.ts'
import { compact } from './index.ts'

const LIMITS = { maxDepth: 64, maxKeys: 1000 }
const parse = (fields: object) =>
  compact.parseRequest(Buffer.from(JSON.stringify({ model: 'm', input: 'Hi', ...fields })), LIMITS, {})

describe('a request', () => {
  it('requests a compaction, with fields that older agents send', () => {
    const request = parse({
      input: [{ role: 'user', content: 'Hi' }],
      tools: [],
      parallel_tool_calls: true,
      stream: false,
    })
    expect(request.compacts).toBe(true)
    expect(request.head).toMatchObject({ model: 'm', stream: false, choices: 1 })
  })

  it('may continue an answer', () => {
    const request = parse({ input: undefined, previous_response_id: 'resp_1' })
    expect(compact.chains?.position(request).previous).toBe('resp_1')
    const item = JSON.stringify({ type: 'message', role: 'user', content: 'Before' })
    const expanded = compact.chains?.expand(request, [item], LIMITS)
    expect(expanded?.compacts).toBe(true)
    expect(JSON.parse(String(expanded?.body))).toEqual({ model: 'm', input: [JSON.parse(item)] })
  })

  it.each([
    ['model', { model: undefined }],
    ['model', { model: 7 }],
    ['input', { input: undefined }],
    ['input', { input: 7 }],
    ['input[0]', { input: ['Hi'] }],
    ['instructions', { instructions: 7 }],
  ])('without a usable %s is refused', (param, fields) => {
    expect(() => parse(fields)).toThrow(expect.objectContaining({ code: 'invalid_request', param }))
  })

  it('for a stream is refused', () => {
    expect(() => parse({ stream: true })).toThrow(
      expect.objectContaining({ code: 'unsupported_parameter', param: 'stream', status: 400 }),
    )
  })

  it('reaches an upstream of its dialect with only the model changed', () => {
    const body = Buffer.from('{ "model": "m", "input": "Hi", "new": 1.0 }')
    const request = compact.parseRequest(body, LIMITS, {})
    const edits = { model: 'up', addStreamUsage: false }
    expect(compact.byteLane.splice(request, edits).toString()).toBe(
      '{ "model": "up", "input": "Hi", "new": 1.0 }',
    )
    expect(compact.byteLane.upstreamHeaders(request)).toEqual({})
  })
})

describe("an upstream's answer", () => {
  const read = (value: unknown) =>
    compact.byteLane.readAnswer(Buffer.from(JSON.stringify(value)), parse({}), false)

  it('passes, and its usage is read', () => {
    const value = {
      id: 'resp_1',
      object: 'response.compaction',
      created_at: 5,
      output: [
        { type: 'message', role: 'user', content: [{ type: 'input_text', text: 'A long message.' }] },
        { id: 'cmp_1', type: 'compaction', encrypted_content: 'gAAAA' },
      ],
      usage: { input_tokens: 30, output_tokens: 4, total_tokens: 34 },
      service_tier: 'flex',
    }
    const answer = read(value)
    expect(answer).toMatchObject({
      usage: { input: 30, output: 4 },
      tier: 'flex',
      delivered: { deltas: 1, bytes: 5 },
    })
    expect('body' in answer && answer.body.toString()).toBe(JSON.stringify(value))
    expect(read({ output: [] })).not.toHaveProperty('usage')
  })

  it.each([
    ['no_answer', 'Hello'],
    ['no_answer', { object: 'response.compaction' }],
    ['no_answer', null],
  ])('without a compaction is a failure: %s', (detail, value) => {
    expect(read(value)).toEqual({ class: 'unknown', status: 200, detail })
  })

  it.each([{ error: { message: 'Overloaded', type: 'server_error' } }, { type: 'error', message: 'x' }])(
    'that is an error is a failure: %j',
    (value) => expect(read(value)).toMatchObject({ status: 200, class: expect.any(String) }),
  )
})

it('an answer has no record, so no request can continue it by its id', () => {
  const tap = compact.chains?.tap(parse({}))
  tap?.whole(Buffer.from('{"id":"resp_1","object":"response.compaction","status":"completed","output":[]}'))
  expect(tap?.record()).toBeUndefined()
})
