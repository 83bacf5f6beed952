import { describe, expect, test } from 'vitest'
import { GatewayError } from '../../errors.ts'
import { errorBody, errorEvent } from './error.ts'

describe('errorBody', () => {
  test('has the shape of the family, the gateway’s code and the field', () => {
    const error = new GatewayError('invalid_request', 'max_tokens is required.', { param: 'max_tokens' })
    expect(errorBody(error, 'req_1')).toEqual({
      type: 'error',
      error: {
        type: 'invalid_request_error',
        message: 'max_tokens is required.',
        code: 'invalid_request',
        param: 'max_tokens',
      },
      request_id: 'req_1',
    })
  })

  test('has the details that SDKs act on', () => {
    const details = { error_code: 'thread_not_found' }
    const error = new GatewayError('invalid_request', 'Gone.', { details })
    expect(errorBody(error, 'r')).toMatchObject({ error: { details } })
  })

  test('a prompt that is too long has the sentence that makes agents compact', () => {
    const tokens = { used: 210_000, limit: 200_000 }
    const known = new GatewayError('context_length_exceeded', 'Something else.', { tokens })
    const message = 'prompt is too long: 210000 tokens > 200000 maximum'
    expect(errorBody(known, 'r')).toMatchObject({ error: { type: 'invalid_request_error', message } })
    const output = { used: 210_000, limit: 200_000, output: 20_000 }
    const tooMuchOutput = new GatewayError('context_length_exceeded', 'Something else.', { tokens: output })
    expect(errorBody(tooMuchOutput, 'r')).toMatchObject({
      error: {
        message:
          'input length and `max_tokens` exceed context limit: 190000 + 20000 > 200000, decrease input length or `max_tokens` and try again',
      },
    })
    const unknown = new GatewayError('context_length_exceeded', 'Something else.')
    expect(errorBody(unknown, 'r')).toMatchObject({
      error: { message: expect.stringMatching(/^prompt is too long/) },
    })
  })
})

test('the error event has a name and a single line of data', () => {
  const text = errorEvent(new GatewayError('overloaded', 'Busy\nnow'), 'req_2').toString()
  const match = /^event: error\ndata: (.*)\n\n$/.exec(text)
  expect(JSON.parse(match?.[1] ?? '')).toMatchObject({
    type: 'error',
    error: { type: 'overloaded_error', message: 'Busy\nnow' },
    request_id: 'req_2',
  })
})
