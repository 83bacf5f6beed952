import { describe, expect, test } from 'vitest'
import { GatewayError } from '../../errors.ts'
import { sseEvents } from '../sse/events.ts'
import { chat } from '../chat/index.ts'

const REQUEST = chat.parseRequest(
  Buffer.from(
    JSON.stringify({
      model: 'm',
      messages: [{ role: 'user', content: 'my prompt' }],
      top_p: 3,
      max_tokens: 5,
    }),
  ),
  { maxDepth: 64, maxKeys: 1000 },
)
const fail = (status: number, body: unknown = {}, headers: Record<string, string | string[]> = {}) =>
  chat.readError(
    status,
    headers,
    Buffer.from(typeof body === 'string' ? body : JSON.stringify(body)),
    REQUEST,
  )
const openai = (code: unknown, message = 'x', type = 'invalid_request_error', param: unknown = null) => ({
  error: { message, type, param, code },
})

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

describe('context length', () => {
  const LONG =
    "This model's maximum context length is 8192 tokens. However, your messages resulted in 10000 tokens."
  const LONG_WITH_OUTPUT =
    "This model's maximum context length is 8192 tokens. However, you requested 10000 tokens (9000 in the messages, 1000 in the completion)."

  test.each([
    [`${LONG} Please reduce the length of the messages.`, LONG],
    [
      "This model's maximum context length is 8192 tokens. However, you requested 10000 tokens (9000 in the messages, 1000 in the completion). Please reduce.",
      LONG_WITH_OUTPUT,
    ],
    [
      "This endpoint's maximum context length is 8192 tokens. However, you requested about 10000 tokens (9000 of text input, 1000 in the output).",
      LONG_WITH_OUTPUT,
    ],
    [
      "This model's maximum context length is 8192 tokens. However, your request has 10000 input tokens. Please reduce.",
      LONG,
    ],
    [
      "'max_tokens' is too large: 5. This model's maximum context length is 8192 tokens and your request has 10000 input tokens (5 > 8192 - 10000).",
      LONG,
    ],
    [
      'Input tokens exceed the configured limit of 8192 tokens. Your messages resulted in 10000 tokens.',
      LONG,
    ],
    [
      "You passed 10000 input tokens and requested 5 output tokens. However, the model's context length is only 8192 tokens.",
      LONG,
    ],
    ['prompt is too long: 10000 tokens > 8192 maximum', LONG],
    [
      'input length and `max_tokens` exceed context limit: 9000 + 1000 > 8192, decrease input length',
      LONG_WITH_OUTPUT,
    ],
    ['request (10000 tokens) exceeds the available context size (8192 tokens), try increasing it', LONG],
    ['The input token count (10000) exceeds the maximum number of tokens allowed (8192).', LONG],
    ["This model's maximum prompt length is 8,192 but the request contains 10,000 tokens.", LONG],
    [
      'Prompt contains 10000 tokens and 0 draft tokens, too large for model with 8192 maximum context length',
      LONG,
    ],
  ])('%s', (message, expected) => {
    for (const status of [400, 413, 422]) {
      const { forCaller } = fail(status, openai(null, message))
      expect(forCaller).toMatchObject({ code: 'context_length_exceeded', status, message: expected })
    }
  })

  test('numbers beside the message', () => {
    const error = {
      code: 400,
      message: 'the request exceeds the available context size, try increasing it',
      type: 'exceed_context_size_error',
      n_prompt_tokens: 10_000,
      n_ctx: 8192,
    }
    expect(fail(400, { error }).forCaller?.message).toBe(LONG)
  })

  test('a code without numbers', () => {
    const { forCaller } = fail(400, openai('context_length_exceeded', 'too long for host-7.internal'))
    expect(forCaller?.code).toBe('context_length_exceeded')
    expect(forCaller?.message).not.toMatch(/host-7|\d/)
  })

  test('a message without the error envelope', () => {
    const body = {
      object: 'error',
      message: 'prompt is too long: 10000 tokens > 8192 maximum',
      type: 'BadRequestError',
      code: 400,
    }
    expect(fail(400, body).forCaller?.message).toBe(LONG)
    expect(fail(400, { error: 'prompt is too long: 10000 tokens > 8192 maximum' }).forCaller?.message).toBe(
      LONG,
    )
  })
})

describe('what the caller is told', () => {
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
  test.each<[string, unknown]>([
    ['an error full of names', openai(SECRETS, SECRETS, SECRETS, SECRETS)],
    [
      'names beside numbers',
      openai('context_length_exceeded', `prompt is too long: 10 tokens > 5 maximum ${SECRETS}`),
    ],
    ['a page', `<html><title>${SECRETS}</title></html>`],
    ['nothing', ''],
    ['a text', SECRETS],
    ['a JSON text', JSON.stringify(SECRETS)],
    ['megabytes', openai(SECRETS, SECRETS.repeat(50_000))],
    ['deep JSON', deep],
    ['a list', [openai(SECRETS)]],
    ['null', 'null'],
    ['no UTF-8', '\u{fffd}\0'],
  ])('nothing of an upstream’s text: %s', (_, body) => {
    for (const status of [400, 401, 403, 404, 413, 422, 429, 500]) {
      const failure = fail(status, body, { 'x-request-id': SECRETS })
      const told = JSON.stringify([failure, failure.forCaller && chat.errorBody(failure.forCaller, 'id')])
      for (const secret of SECRETS.split(' ').filter((word) => word.length > 2))
        expect(told).not.toContain(secret)
      expect(failure.forCaller?.message ?? 'The').toMatch(/^Th/)
      expect(failure.forCaller?.cause).toBeUndefined()
    }
  })
})

describe('Retry-After', () => {
  const inSeconds = (seconds: number) => new Date(Date.now() + seconds * 1000).toUTCString()

  test.each<[Record<string, string | string[]>, number | undefined]>([
    [{}, undefined],
    [{ 'retry-after': '7' }, 7],
    [{ 'retry-after': ['7', '9'] }, 7],
    [{ 'retry-after': '0' }, 1],
    [{ 'retry-after': '1.2' }, 2],
    [{ 'retry-after': '3600' }, 60],
    [{ 'retry-after': '-5' }, 1],
    [{ 'retry-after': 'soon' }, undefined],
    [{ 'retry-after': '' }, undefined],
    [{ 'retry-after': 'Wed, 21 Oct 2015 07:28:00 GMT' }, 1],
    [{ 'retry-after': inSeconds(7200) }, 60],
    [{ 'retry-after-ms': '1500', 'retry-after': '30' }, 2],
    [{ 'retry-after-ms': 'x', 'retry-after': '30' }, 30],
  ])('%j', (headers, expected) => {
    expect(fail(429, {}, headers).retryAfterSeconds).toBe(expected)
  })

  test('an HTTP date counts from now', () => {
    const seconds = fail(503, '', { 'retry-after': inSeconds(20) }).retryAfterSeconds
    expect(seconds).toBeGreaterThan(10)
    expect(seconds).toBeLessThanOrEqual(20)
  })
})

describe('our errors', () => {
  const error = new GatewayError('invalid_request', 'No "messages".', { param: 'messages' })

  test('have the shape that the SDKs read', () => {
    expect(chat.errorBody(error, 'id')).toEqual({
      error: {
        message: 'No "messages".',
        type: 'invalid_request_error',
        param: 'messages',
        code: 'invalid_request',
      },
    })
    expect(chat.errorBody(new GatewayError('upstream_error', 'Busy.'), 'id')).toEqual({
      error: { message: 'Busy.', type: 'server_error', param: null, code: 'upstream_error' },
    })
  })

  test('end a stream as one event', () => {
    const bytes = chat.errorEvent(error, 'id')
    expect(bytes.toString()).toMatch(/^data: .*\n\n$/)
    const [event, ...more] = [...sseEvents(bytes)]
    expect(JSON.parse(event?.data ?? '')).toEqual(chat.errorBody(error, 'id'))
    expect(more).toEqual([])
  })

  test('the keep-alive is a comment', () => {
    expect(chat.keepAlive.toString()).toMatch(/^:[^\n]*\n\n$/)
  })
})
