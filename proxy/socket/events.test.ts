import { expect, test } from 'vitest'
import { GatewayError } from '../errors.ts'
import { errorFrame, framesOf, steerFailedFrame } from './events.ts'

const DELTA = '{"type":"response.output_text.delta","delta":"{\\u00e9 1.0","sequence_number":4}'

function sse(event: string, data: string): Buffer {
  return Buffer.from(`event: ${event}\ndata: ${data}\n\n`)
}

test('an event becomes a message with the same text', () => {
  const bytes = Buffer.concat([
    sse('response.created', '{"type":"response.created"}'),
    Buffer.from(': keep-alive\n\n'),
    sse('response.output_text.delta', DELTA),
    Buffer.from('data: [DONE]\n\n'),
  ])
  expect(framesOf(bytes, undefined)).toEqual([
    { text: '{"type":"response.created"}', error: false },
    { text: DELTA, error: false },
  ])
})

test.each([
  [DELTA, `{"stream_id":"a.b",${DELTA.slice(1)}`],
  [' { "type":"x"}', '{"stream_id":"a.b","type":"x"}'],
  ['{ }', '{"stream_id":"a.b"}'],
])('the stream name is inserted at the start of %s', (data, text) => {
  expect(framesOf(sse('x', data), 'a.b')).toEqual([{ text, error: false }])
})

test('an event of several lines becomes one object', () => {
  const [frame] = framesOf(Buffer.from('event: x\ndata: {"type":"x",\ndata: "n":1}\n\n'), 'a')
  expect(JSON.parse(frame?.text ?? '')).toEqual({ stream_id: 'a', type: 'x', n: 1 })
})

test('a failed response becomes an error with the same message', () => {
  const data = '{"type":"response.failed","response":{"status":"failed"}}'
  expect(framesOf(sse('response.failed', data), undefined)).toEqual([{ text: data, error: true }])
})

test('the flat error event becomes an error with a status', () => {
  const data =
    '{"type":"error","code":"insufficient_balance","message":"The rest.","param":null,"sequence_number":7}'
  const [frame, ...rest] = framesOf(sse('error', data), 'a')
  expect(rest).toEqual([])
  expect(frame?.error).toBe(true)
  expect(JSON.parse(frame?.text ?? '')).toEqual({
    type: 'error',
    status: 402,
    stream_id: 'a',
    error: { type: 'insufficient_quota', code: 'insufficient_balance', message: 'The rest.', param: null },
  })
})

test.each(['{"type":"error","code":"toString","message":1}', 'nonsense', '{"type":"error","code":null}'])(
  'an error with an unknown code still gets a status: %s',
  (data) => {
    expect(JSON.parse(framesOf(sse('error', data), undefined)[0]?.text ?? '')).toEqual({
      type: 'error',
      status: 502,
      error: {
        type: 'server_error',
        code: 'upstream_error',
        message: 'The answer was broken off.',
        param: null,
      },
    })
  },
)

test('the flat error keeps its field', () => {
  const data = '{"type":"error","code":"invalid_request","message":"m","param":"input[0]"}'
  expect(JSON.parse(framesOf(sse('error', data), undefined)[0]?.text ?? '')).toMatchObject({
    status: 400,
    error: { param: 'input[0]' },
  })
})

test('an error has its status, its field and its Retry-After', () => {
  const error = new GatewayError('request_too_large', 'Too large.', { param: 'input', status: 422 })
  expect(JSON.parse(errorFrame(error, undefined))).toEqual({
    type: 'error',
    status: 422,
    error: {
      type: 'invalid_request_error',
      code: 'request_too_large',
      message: 'Too large.',
      param: 'input',
    },
  })
  const busy = new GatewayError('overloaded', 'Busy.', { retryAfterSeconds: 0.2 })
  expect(JSON.parse(errorFrame(busy, 'a'))).toMatchObject({
    status: 503,
    stream_id: 'a',
    error: { type: 'service_unavailable_error', headers: { 'retry-after': '1' } },
  })
})

test('a steer is returned unchanged', () => {
  expect(JSON.parse(steerFailedFrame('resp_1', [{ role: 'user' }], 'a'))).toEqual({
    type: 'response.steer.failed',
    sequence_number: 0,
    stream_id: 'a',
    error: {
      type: 'invalid_request_error',
      code: 'steering_not_supported',
      message: expect.any(String),
    },
    steer: { previous_response_id: 'resp_1', input: [{ role: 'user' }] },
  })
  expect(JSON.parse(steerFailedFrame(undefined, undefined, undefined))).not.toHaveProperty('stream_id')
})
