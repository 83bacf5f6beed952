import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import '../../index.ts'
import { GatewayError } from '../../../errors.ts'
import { countTokens } from './index.ts'

const LIMITS = { maxDepth: 64, maxKeys: 1000 }
const PLAIN = { model: 'm', messages: [{ role: 'user', content: 'Hi' }] }
const { byteLane } = countTokens

function parse(body: object | string, headers = {}) {
  const text = typeof body === 'string' ? body : JSON.stringify(body)
  return countTokens.parseRequest(Buffer.from(text), LIMITS, headers)
}

describe('requests', () => {
  test('need no output limit, and have none', () => {
    expect(parse(PLAIN).head).toEqual({
      model: 'm',
      stream: false,
      maxOutputTokens: 0,
      choices: 1,
      wantsStreamUsage: false,
      input: { textBytes: 2, images: 0, audioBytes: 0, fileBytes: 0, tools: 0 },
    })
  })

  test('fields about the answer are ignored', () => {
    const fields = { max_tokens: 'x', stream: true, service_tier: 'priority', speed: 'fast' }
    expect(parse({ ...PLAIN, ...fields }).head).toEqual(parse(PLAIN).head)
  })

  test('all that reaches the model is weighed', () => {
    const tools = [{ name: 't' }]
    const { input } = parse({ ...PLAIN, system: 'four', tools }).head
    expect(input).toMatchObject({ textBytes: 2 + 4 + '[{"name":"t"}]'.length, tools: 1 })
  })

  test.each<[object, string]>([
    [{ model: 'm' }, 'messages'],
    [{ ...PLAIN, model: 1 }, 'model'],
    [{ ...PLAIN, messages: [] }, 'messages'],
    [{ ...PLAIN, messages: ['Hi'] }, 'messages[0]'],
    [{ ...PLAIN, messages: [{ role: 'tool', content: 'Hi' }] }, 'messages[0].role'],
    [{ ...PLAIN, messages: [{ role: 'user' }] }, 'messages[0].content'],
    [{ ...PLAIN, messages: [{ role: 'user', content: [{}] }] }, 'messages[0].content[0].type'],
    [{ ...PLAIN, system: 1 }, 'system'],
    [{ ...PLAIN, tools: {} }, 'tools'],
    [{ ...PLAIN, tools: [1] }, 'tools[0]'],
  ])('%j names %s', (body, param) => {
    expect(() => parse(body)).toThrow(expect.objectContaining({ code: 'invalid_request', param }))
  })

  test('a key that the gateway reads must occur once', () => {
    expect(() => parse('{"model":"m","messages":[],"messages":[]}')).toThrow(/twice/)
  })

  test('only the model changes', () => {
    const request = parse('{"messages":[{"role":"user","content":"Hi"}],"x":1.0,"model":"m"}')
    expect(byteLane.splice(request, { model: 'claude', addStreamUsage: false }).toString()).toBe(
      '{"messages":[{"role":"user","content":"Hi"}],"x":1.0,"model":"claude"}',
    )
  })

  test('version and betas of the client go with it', () => {
    const request = parse(PLAIN, {
      'anthropic-version': '2026-10-21',
      'anthropic-beta': 'a,b',
      'x-api-key': 'secret',
    })
    expect(byteLane.upstreamHeaders(request)).toEqual({
      'anthropic-version': '2026-10-21',
      'anthropic-beta': 'a,b',
    })
    expect(byteLane.upstreamHeaders(parse(PLAIN))).toEqual({ 'anthropic-version': '2023-06-01' })
  })
})

describe('answers', () => {
  const read = (value: unknown) =>
    byteLane.readAnswer(Buffer.from(JSON.stringify(value)), parse(PLAIN), false)

  test.each(['{"input_tokens": 12}', '{ "input_tokens":0,"context_management":{"original_input_tokens":9}}'])(
    '%s passes, and costs nothing',
    (text) => {
      const body = Buffer.from(text)
      const answer = byteLane.readAnswer(body, parse(PLAIN), false)
      expect(answer).toEqual({ body, delivered: { deltas: 0, bytes: 0 } })
      expect('body' in answer && answer.body).toBe(body)
    },
  )

  test.each([
    {},
    { input_tokens: '12' },
    { input_tokens: -1 },
    { input_tokens: 1.5 },
    { input_tokens: null },
    { content: [], usage: { input_tokens: 12 } },
    [12],
    12,
    null,
  ])('%j is none', (value) => {
    expect(read(value)).toEqual({ class: 'unknown', status: 200, detail: 'no_answer' })
  })

  test('something else than JSON is none', () => {
    expect(byteLane.readAnswer(Buffer.from('<html>'), parse(PLAIN), false)).toMatchObject({
      detail: 'no_answer',
    })
  })

  test.each([
    { type: 'error', error: { type: 'overloaded_error', message: 'Overloaded' } },
    { type: 'error', input_tokens: 1 },
    { error: { type: 'api_error', message: 'x' }, input_tokens: 1 },
  ])('%j is an error', (value) => {
    expect(read(value)).toMatchObject({ status: 200, detail: 'error_in_answer' })
  })

  test('the class of an error is read', () => {
    const error = { type: 'overloaded_error', message: 'Overloaded' }
    expect(read({ type: 'error', error })).toMatchObject({ class: 'transient' })
  })
})

test('an estimate has the shape of a count', () => {
  expect(countTokens.estimate?.(parse(PLAIN), 77)).toEqual({ input_tokens: 77 })
})

test('errors are those of the messages API, and it neither streams nor converts', () => {
  const error = new GatewayError('invalid_request', 'No.', { param: 'messages' })
  expect(countTokens.errorBody(error, 'req_1')).toEqual({
    type: 'error',
    error: { type: 'invalid_request_error', message: 'No.', code: 'invalid_request', param: 'messages' },
    request_id: 'req_1',
  })
  expect(countTokens.errorEvent(error, 'req_1').toString()).toMatch(/^event: error\ndata: \{"type":"error"/)
  expect(countTokens.name).toBe('messages')
  expect(countTokens.codec).toBeUndefined()
  expect(() => byteLane.observe(parse(PLAIN), 1000, false)).toThrow(/never streamed/)
})

describe('recordings of real upstreams', () => {
  const { RECORDINGS } = process.env
  if (RECORDINGS === undefined) {
    test('are read only when RECORDINGS names their folder', () => {
      expect(RECORDINGS).toBeUndefined()
    })
    return
  }
  const lines = readFileSync(join(RECORDINGS, 'index.jsonl'), 'utf8').trimEnd().split('\n')
  const recordings = lines
    .map((line): { dialect: string; file: string; request: object } => JSON.parse(line))
    .filter(({ dialect }) => dialect === 'count_tokens')

  test('there are some', () => {
    expect(recordings.length).toBeGreaterThan(0)
  })

  test.each(recordings)('$file', ({ file, request }) => {
    const body = readFileSync(join(RECORDINGS, file))
    expect(byteLane.readAnswer(body, parse(request), false)).toEqual({
      body,
      delivered: { deltas: 0, bytes: 0 },
    })
  })
})
