import { describe, expect, test } from 'vitest'
import { decodeData, decodeEvents } from './answer-testing.ts'
import { added, CREATED, completed, delta, done, FC, MSG, messageOf, types } from './decode-stream-testing.ts'

describe('the end', () => {
  test('a cut stream is not finished', () => {
    const { parts, decoder } = decodeEvents([
      CREATED,
      added(0, MSG),
      delta(0, 'msg_1', 'Hi'),
      done(0, messageOf('Hi')),
    ])
    expect([decoder.finished, decoder.done, decoder.failure]).toEqual([false, false, undefined])
    expect(types(parts)).not.toContain('finish')
  })

  test('half an event is a failure', () => {
    const { parts, decoder } = decodeData([
      JSON.stringify(added(0, MSG)),
      '{"type":"response.output_te',
      JSON.stringify(completed()),
    ])
    expect(decoder.failure).toMatchObject({ class: 'transient', detail: 'garbled_event' })
    expect(decoder.finished).toBe(false)
    expect(types(parts)).not.toContain('finish')
  })

  test('a call without a tool name is a failure', () => {
    const { parts, decoder } = decodeEvents([CREATED, done(0, { ...FC, name: undefined }), completed()])
    expect(decoder.failure).toMatchObject({ class: 'unknown', detail: 'nameless_tool_call' })
    expect(types(parts)).toEqual(['start'])
  })

  test('an incomplete response', () => {
    const response = {
      status: 'incomplete',
      incomplete_details: { reason: 'max_output_tokens' },
      output: [messageOf('Hi')],
    }
    const { parts, decoder } = decodeEvents([CREATED, { type: 'response.incomplete', response }])
    expect(decoder.finished).toBe(true)
    expect(parts.at(-1)).toMatchObject({ type: 'finish', finish: { reason: 'length' } })
  })

  test('an incomplete event without a reason means that the answer was cut', () => {
    const { parts } = decodeEvents([CREATED, { type: 'response.incomplete', response: {} }])
    expect(parts.at(-1)).toMatchObject({ finish: { reason: 'length' } })
  })

  const failed = { code: 'rate_limit_exceeded', message: 'try again in 3s, org-Zx81' }
  test.each<[string, object]>([
    ['response.failed', { type: 'response.failed', response: { status: 'failed', error: failed } }],
    ['a flat error', { type: 'error', ...failed, param: null }],
    ['an error object', { type: 'error', error: failed }],
    ['an error without type', { error: failed }],
    ['completed, but failed', completed({ status: 'failed', error: failed })],
  ])('%s is a failure, and later events are ignored', (_name, event) => {
    const { parts, decoder } = decodeEvents([
      CREATED,
      added(0, MSG),
      event,
      delta(0, 'msg_1', 'x'),
      completed(),
    ])
    expect(decoder.failure).toMatchObject({ class: 'rate_limit', detail: 'error_event' })
    expect(JSON.stringify(decoder.failure)).not.toContain('org-Zx81')
    expect([decoder.finished, decoder.done]).toEqual([false, true])
    expect(types(parts)).toEqual(['start'])
  })
})
