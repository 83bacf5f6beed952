import { describe, expect, test } from 'vitest'
import { anthropic, openai, refused, requestOf } from './testing.ts'

const REQUEST = requestOf({ model: 'm', messages: [] })
const fail = (status: number, body: unknown) => refused(status, body, REQUEST)

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
      expect(forCaller).toMatchObject({
        code: 'context_length_exceeded',
        status,
        message: expected,
        tokens: { used: 10_000, limit: 8192 },
      })
    }
  })

  test.each([
    [
      "'max_tokens' or 'max_completion_tokens' is too large: 50000. This model's maximum context length is 32768 tokens and your request has 100 input tokens (50000 > 32768 - 100).",
      50_100,
      50_000,
    ],
    [
      "You passed 100 input tokens and requested 50000 output tokens. However, the model's context length is only 32768 tokens.",
      50_100,
      50_000,
    ],
    [
      "This model's maximum context length is 32768 tokens, however you requested 33000 tokens (1000 in your prompt; 32000 for the completion).",
      33_000,
      32_000,
    ],
    [
      'Trying to keep the first 40000 tokens when context the overflows. However, the model is loaded with context length of only 32768 tokens, which is not enough.',
      40_000,
      undefined,
    ],
  ])('the requested output, if the upstream names it: %s', (message, used, output) => {
    expect(fail(400, openai(null, message)).forCaller?.tokens).toEqual({
      used,
      limit: 32_768,
      ...(output !== undefined && { output }),
    })
  })

  test('no numbers if they would fit', () => {
    const text = "This model's maximum context length is 8192 tokens. Your request has 100 input tokens."
    const { forCaller } = fail(400, openai(null, text))
    expect(forCaller).toMatchObject({ code: 'context_length_exceeded', tokens: undefined })
    expect(forCaller?.message).not.toMatch(/\d/)
  })

  test('numbers in other fields than the message', () => {
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
    expect(forCaller?.tokens).toBeUndefined()
  })

  test.each([
    'Input is too long.',
    'Input is too long for requested model.',
    'prompt is too long',
    'Your input exceeds the context window of this model. Please adjust your input and try again.',
  ])('a sentence without numbers: %s', (message) => {
    expect(fail(400, anthropic('invalid_request_error', message)).forCaller).toMatchObject({
      code: 'context_length_exceeded',
      tokens: undefined,
    })
  })

  test('the message of the upstream’s own upstream', () => {
    const raw = JSON.stringify({ error: { message: 'prompt is too long: 10000 tokens > 8192 maximum' } })
    const error = { message: 'Provider returned error', code: 400, metadata: { raw, provider_name: 'x' } }
    expect(fail(400, { error }).forCaller?.message).toBe(LONG)
    expect(fail(422, { detail: 'prompt is too long: 10000 tokens > 8192 maximum' }).forCaller?.message).toBe(
      LONG,
    )
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
