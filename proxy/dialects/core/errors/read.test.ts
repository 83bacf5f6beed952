import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { GatewayError } from '../../../errors.ts'
import { chat } from '../../chat/index.ts'
import { openaiErrorBody } from '../../openai/error.ts'
import { readFailure } from './read.ts'
import { anthropic, openai, refused, requestOf } from './testing.ts'

const REQUEST = requestOf({
  model: 'm',
  messages: [{ role: 'user', content: 'my prompt' }],
  top_p: 3,
  max_tokens: 5,
})
const fail = (status: number, body: unknown = {}, headers: Record<string, string | string[]> = {}) =>
  refused(status, body, REQUEST, headers)

describe('class', () => {
  test.each<[number, unknown, string]>([
    [401, openai('invalid_api_key'), 'credential'],
    [402, {}, 'quota'],
    [403, openai(null), 'model_access'],
    [403, openai('unsupported_country_region_territory', 'x', 'request_forbidden'), 'region_blocked'],
    [404, openai('model_not_found'), 'model_gone'],
    [408, '', 'transient'],
    [429, openai('rate_limit_exceeded'), 'rate_limit'],
    [429, 'busy', 'rate_limit'],
    [429, openai('insufficient_quota', 'x', 'insufficient_quota'), 'quota'],
    [429, openai(null, 'x', 'insufficient_quota'), 'quota'],
    [429, openai('credit_balance_exhausted'), 'quota'],
    [429, openai('organization_spend_limit_exceeded'), 'quota'],
    [500, {}, 'transient'],
    [503, '<html>', 'transient'],
    [529, openai('invalid_api_key'), 'transient'],
    [400, openai('invalid_value'), 'caller_fault'],
    [400, openai('invalid_api_key'), 'credential'],
    [400, [{ error: { code: 400, status: 'API_KEY_INVALID' } }], 'credential'],
    [400, openai('insufficient_quota'), 'quota'],
    [400, openai('model_not_found', 'x', 'invalid_request_error', 'model'), 'model_gone'],
    [409, anthropic('conflict_error'), 'transient'],
    [413, openai('rate_limit_exceeded', 'x', 'tokens'), 'rate_limit'],
    [400, anthropic('invalid_request_error'), 'caller_fault'],
    [400, anthropic('invalid_request_error', 'Your credit balance is too low to access it.'), 'quota'],
    [400, anthropic('invalid_request_error', 'This organization has been disabled.'), 'credential'],
    [401, anthropic('authentication_error'), 'credential'],
    [402, anthropic('billing_error'), 'quota'],
    [403, anthropic('permission_error'), 'model_access'],
    [404, anthropic('not_found_error', 'model: claude-sonet'), 'model_gone'],
    [413, anthropic('request_too_large'), 'caller_fault'],
    [429, anthropic('rate_limit_error'), 'rate_limit'],
    [429, anthropic('rate_limit_error', 'x', 'ramp_limit_exceeded'), 'rate_limit'],
    [429, anthropic('rate_limit_error', 'x', 'enforced_spend_limit_reached'), 'quota'],
    [429, anthropic('billing_error'), 'quota'],
    [500, anthropic('api_error'), 'transient'],
    [504, anthropic('timeout_error'), 'transient'],
    [529, anthropic('overloaded_error'), 'transient'],
    [413, '', 'caller_fault'],
    [422, { detail: [] }, 'caller_fault'],
    [418, {}, 'unknown'],
    [302, {}, 'unknown'],
  ])('%i %j is %s', (status, body, failureClass) => {
    const failure = fail(status, body)
    expect(failure).toMatchObject({ class: failureClass, status, detail: `http_${status}` })
    expect(failure.forCaller !== undefined).toBe(failureClass === 'caller_fault')
  })
})

describe('an error inside a 200', () => {
  const flat = (code: string | null, message = 'x') => ({
    type: 'error',
    code,
    message,
    param: null,
    sequence_number: 3,
  })
  const failed = (code: string, message = 'x') => ({
    object: 'response',
    status: 'failed',
    error: { code, message },
  })

  test.each<[string, unknown, string]>([
    ['the error body of chat', openai('server_error', 'x', 'server_error'), 'transient'],
    [
      'a status beside the message',
      { error: { message: 'x', status_code: 400, code: 'tool_use_failed' } },
      'caller_fault',
    ],
    ['a status as code', { error: { message: 'x', code: 502 } }, 'transient'],
    ['a text', { error: 'prompt is too long: 10 tokens > 5 maximum' }, 'caller_fault'],
    ['an event of messages', anthropic('overloaded_error'), 'transient'],
    ['a limit of messages', anthropic('rate_limit_error'), 'rate_limit'],
    ['a quota of messages', anthropic('rate_limit_error', 'x', 'contract_spend_limit_reached'), 'quota'],
    ['a refusal of messages', anthropic('invalid_request_error'), 'caller_fault'],
    ['a size of messages', anthropic('request_too_large'), 'caller_fault'],
    ['a time-out of messages', anthropic('timeout_error'), 'transient'],
    ['a flat event', flat('rate_limit_exceeded'), 'rate_limit'],
    ['a flat event without a code', flat(null), 'unknown'],
    [
      'a flat event with token counts',
      flat(null, 'prompt is too long: 10 tokens > 5 maximum'),
      'caller_fault',
    ],
    [
      'a wrapped event of responses',
      { ...openai('insufficient_quota'), type: 'error', sequence_number: 2 },
      'quota',
    ],
    ['a failed response', failed('server_error'), 'transient'],
    [
      'a failed response in its event',
      { type: 'response.failed', response: failed('rate_limit_exceeded') },
      'rate_limit',
    ],
    [
      'a failed response without quota',
      { type: 'response.failed', response: failed('insufficient_quota') },
      'quota',
    ],
    [
      'a refusal of a response',
      { type: 'response.failed', response: failed('invalid_prompt') },
      'caller_fault',
    ],
    [
      'an image that cannot be read',
      { type: 'response.failed', response: failed('image_parse_error') },
      'caller_fault',
    ],
    [
      'a model at capacity',
      { type: 'response.failed', response: failed('server_is_overloaded') },
      'transient',
    ],
    [
      'another region',
      { type: 'response.failed', response: failed('data_residency_mismatch') },
      'region_blocked',
    ],
    [
      'a store that is slow',
      { type: 'response.failed', response: failed('vector_store_timeout') },
      'transient',
    ],
    ['a failed response without a reason', { type: 'response.failed', response: { error: null } }, 'unknown'],
    ['an unknown code', failed('no_idea'), 'unknown'],
    ['nothing', null, 'unknown'],
    ['a number', 7, 'unknown'],
    [
      'fields of other types',
      { error: { code: {}, type: [], message: 7, details: 1, param: {} } },
      'unknown',
    ],
  ])('%s', (_, body, failureClass) => {
    const failure = readFailure(body, REQUEST, 'error_event')
    expect(failure).toMatchObject({ class: failureClass, detail: 'error_event' })
    expect(failure.status).toBeUndefined()
    expect(failure.forCaller !== undefined).toBe(failureClass === 'caller_fault')
  })

  test('has codes of its own for filters', () => {
    for (const code of ['bio_policy', 'misalignment_policy_violation', 'image_content_policy_violation'])
      expect(readFailure(failed(code), REQUEST, 'x').forCaller?.code).toBe('content_filter')
  })

  test('reads the pause from the message', () => {
    const wait = (text: string) =>
      readFailure(failed('rate_limit_exceeded', text), REQUEST, 'x').retryAfterSeconds
    expect(wait('Rate limit reached. Please try again in 1.898s. Visit')).toBe(2)
    expect(wait('Please try again in 28ms.')).toBe(1)
    expect(wait('Please try again in 500s.')).toBe(60)
    expect(wait('Please try again in 6m0s.')).toBeUndefined()
    expect(wait('Please try again later.')).toBeUndefined()
  })
})

describe('the error for the client', () => {
  test('a content filter', () => {
    expect(fail(400, openai('content_filter')).forCaller).toMatchObject({
      code: 'content_filter',
      status: 400,
    })
  })

  test.each(['top_p', 'messages[0].role', 'messages.0.content', 'max_tokens'])('the field %s', (param) => {
    const { forCaller } = fail(400, openai('invalid_value', 'x', 'invalid_request_error', param))
    expect(forCaller).toMatchObject({ code: 'invalid_request', param })
    expect(forCaller?.message).toContain(param)
  })

  test.each([
    'temperature',
    'messages[1]',
    'messages[0].secret',
    'messages[0].content.length',
    'constructor',
    'messages.length',
    'top_p; see https://internal',
    'messages[0',
    '',
    'm'.repeat(1000),
    7,
    { a: 1 },
  ])('not the field %j', (param) => {
    const { forCaller } = fail(400, openai('invalid_value', 'x', 'invalid_request_error', param))
    expect(forCaller).toMatchObject({ code: 'invalid_request', param: undefined })
    expect(forCaller?.message).toBe('The upstream refused the request as invalid.')
  })

  const SECRETS = 'sk-proj-abcdef0123456789 org-Zx81 10.0.0.7:8443 llm.internal.example req_0123 my prompt'
  const deep = `${'{"error":'.repeat(20_000)}1${'}'.repeat(20_000)}`
  test('not a text full of known wordings', () => {
    const secret = fc.constantFrom('Zx81', 'host-7.internal', 'sk-proj-abc', "'Zx81'", '`Zx81`', 'Zx81: ')
    const known = fc.constantFrom(
      ...['prompt is too long: 10 tokens > 5 maximum', 'image exceeds 5 MB maximum: 6 bytes > 5 bytes'],
      ...['max_tokens: 9 > 8, which is the maximum allowed number of output tokens', 'messages: ', 'top_p: '],
      ...[
        'Extra inputs are not permitted',
        "effort level '",
        'Supported levels: ',
        "Item 'rs_",
        "' not found",
      ],
      ...[
        '`tool_use` ids must be unique',
        'encrypted content ',
        'could not be verified',
        'is not supported',
        ' ',
      ],
    )
    fc.assert(
      fc.property(fc.array(fc.oneof(secret, known), { maxLength: 8 }), (words) => {
        for (const body of [
          openai(null, words.join('')),
          anthropic('invalid_request_error', words.join(' ')),
        ]) {
          expect(JSON.stringify(fail(400, body))).not.toMatch(/Zx81|host-7|sk-proj/)
        }
      }),
    )
  })

  test.each<[string, unknown]>([
    ['an error full of names', openai(SECRETS, SECRETS, SECRETS, SECRETS)],
    [
      'names beside numbers',
      openai('context_length_exceeded', `prompt is too long: 10 tokens > 5 maximum ${SECRETS}`),
    ],
    ['an HTML page', `<html><title>${SECRETS}</title></html>`],
    ['nothing', ''],
    ['a text', SECRETS],
    ['a JSON text', JSON.stringify(SECRETS)],
    ['megabytes', openai(SECRETS, SECRETS.repeat(50_000))],
    ['deep JSON', deep],
    ['a list', [openai(SECRETS)]],
    ['null', 'null'],
    ['no UTF-8', '\u{fffd}\0'],
  ])('never contains the upstream’s text: %s', (_, body) => {
    for (const status of [400, 401, 403, 404, 413, 422, 429, 500]) {
      const failure = fail(status, body, { 'x-request-id': SECRETS })
      const shown = JSON.stringify([failure, failure.forCaller && openaiErrorBody(failure.forCaller)])
      for (const secret of SECRETS.split(' ').filter((word) => word.length > 2))
        expect(shown).not.toContain(secret)
      expect(failure.forCaller?.message ?? 'The').toMatch(/^Th/)
      expect(failure.forCaller?.cause).toBeUndefined()
    }
  })
})

describe('errors of the gateway', () => {
  const error = new GatewayError('invalid_request', 'No "messages".', { param: 'messages' })

  test('have the shape that the SDKs read', () => {
    expect(openaiErrorBody(error)).toEqual({
      error: {
        message: 'No "messages".',
        type: 'invalid_request_error',
        param: 'messages',
        code: 'invalid_request',
      },
    })
    expect(openaiErrorBody(new GatewayError('upstream_error', 'Busy.'))).toEqual({
      error: { message: 'Busy.', type: 'server_error', param: null, code: 'upstream_error' },
    })
  })

  test('end a stream as one event', () => {
    const bytes = chat.errorEvent(error, 'id')
    expect(bytes.toString()).toMatch(/^data: .*\n\n$/)
    expect(JSON.parse(bytes.toString().slice('data: '.length))).toEqual(openaiErrorBody(error))
  })

  test('the keep-alive is a comment', () => {
    expect(chat.keepAlive.toString()).toMatch(/^:[^\n]*\n\n$/)
  })
})
