import { describe, expect, test } from 'vitest'
import { anthropic, refused, requestOf } from '../core/errors/testing.ts'
import { threadUnsupported } from './threads.ts'

const REQUEST = requestOf({
  model: 'm',
  max_tokens: 5,
  messages: [],
  thread: { type: 'continue', previous_message_id: 'msg_1' },
})

describe('a refused thread', () => {
  test.each([
    [404, 'not_found_error', 'thread_not_found'],
    [400, 'invalid_request_error', 'thread_already_continued'],
    [400, 'invalid_request_error', 'thread_continue_in_flight'],
    [400, 'invalid_request_error', 'thread_fingerprint_mismatch'],
    [400, 'invalid_request_error', 'thread_unsupported_request'],
  ])('%i %s %s keeps its code', (status, type, code) => {
    const failure = refused(status, anthropic(type, 'of org-4711', code), REQUEST)
    expect(failure).toMatchObject({
      class: 'caller_fault',
      status,
      forCaller: { param: 'thread', status, details: { error_code: code } },
    })
    expect(failure.forCaller?.message).not.toContain('4711')
  })

  test('is recognized by the error of an upstream that does not know the field', () => {
    const body = anthropic('invalid_request_error', 'thread: Extra inputs are not permitted')
    expect(refused(400, body, REQUEST).forCaller).toMatchObject({
      param: 'thread',
      details: { error_code: 'thread_unsupported_request' },
    })
  })

  test('another error has no details', () => {
    const body = anthropic('invalid_request_error', 'max_tokens: too many')
    expect(refused(400, body, REQUEST).forCaller).toMatchObject({ param: 'max_tokens', details: undefined })
  })
})

test('without an upstream it is a bad request', () => {
  expect(threadUnsupported()).toMatchObject({
    code: 'unsupported_parameter',
    status: 400,
    details: { error_code: 'thread_unsupported_request' },
  })
})
