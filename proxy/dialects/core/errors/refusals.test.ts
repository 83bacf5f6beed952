/** Bodies as upstreams send them, and the sentences that agents act on. */

import { describe, expect, test } from 'vitest'
import { cpuMs } from '../../../../test/harness/cpu.ts'
import type { ParsedRequest } from '../request.ts'
import * as errorOf from './testing.ts'
import { refused, requestOf } from './testing.ts'

const MESSAGES = requestOf({
  model: 'm',
  max_tokens: 200_000,
  temperature: 1,
  context_management: { edits: [] },
  thinking: { type: 'enabled', budget_tokens: 1024 },
  output_config: { effort: 'xhigh' },
  messages: [
    { role: 'user', content: 'hi' },
    { role: 'assistant', content: [{ type: 'thinking', thinking: 'T', signature: 'S' }] },
  ],
})
const RESPONSES = requestOf({
  model: 'm',
  previous_response_id: 'resp_1',
  max_output_tokens: 5,
  reasoning: { effort: 'minimal' },
  input: [{ type: 'reasoning', id: 'rs_1' }],
})
const CHAT = requestOf({ model: 'm', max_completion_tokens: 5, reasoning_effort: 'minimal', messages: [] })

const anthropic = (message: string) => errorOf.anthropic('invalid_request_error', message)
const openai = (message: string, code: string | null = null, param: string | null = null) =>
  errorOf.openai(code, message, 'invalid_request_error', param)

describe('a sentence that agents read', () => {
  test.each<[string, ParsedRequest, object, { code: string; message: string; param?: string }]>([
    [
      'an output limit of messages',
      MESSAGES,
      anthropic(
        'max_tokens: 200000 > 64000, which is the maximum allowed number of output tokens for claude-sonnet-4-5',
      ),
      {
        code: 'invalid_request',
        message:
          'max_tokens: 200000 > 64000, which is the maximum allowed number of output tokens for this model.',
        param: 'max_tokens',
      },
    ],
    [
      'an output limit of chat',
      CHAT,
      openai(
        'max_tokens is too large: 100000. This model supports at most 16384 completion tokens, whereas you provided 100000.',
        'invalid_value',
        'max_completion_tokens',
      ),
      {
        code: 'invalid_request',
        message:
          'max_completion_tokens: 100000 > 16384, which is the maximum allowed number of output tokens for this model.',
        param: 'max_completion_tokens',
      },
    ],
    [
      'an output limit under another name of the client',
      RESPONSES,
      anthropic('max_tokens: 9 > 8, which is the maximum allowed number of output tokens for x'),
      {
        code: 'invalid_request',
        message: 'max_tokens: 9 > 8, which is the maximum allowed number of output tokens for this model.',
      },
    ],
    [
      'an unexpected field',
      MESSAGES,
      anthropic('context_management: Extra inputs are not permitted'),
      {
        code: 'invalid_request',
        message: 'context_management: Extra inputs are not permitted.',
        param: 'context_management',
      },
    ],
    [
      'a level of effort, messages',
      MESSAGES,
      anthropic(
        "This model does not support effort level 'xhigh'. Supported levels: high, low, max, medium.",
      ),
      {
        code: 'invalid_request',
        message:
          "This model does not support effort level 'xhigh'. Supported levels: low, medium, high, max.",
      },
    ],
    [
      'a level of effort, chat',
      CHAT,
      openai(
        "Unsupported value: 'reasoning_effort' does not support 'minimal' with this model. Supported values are: 'none', 'low', and 'high'.",
        'unsupported_value',
        'reasoning_effort',
      ),
      {
        code: 'invalid_request',
        message: "This model does not support effort level 'minimal'. Supported levels: none, low, high.",
        param: 'reasoning_effort',
      },
    ],
    [
      'an unsupported effort',
      MESSAGES,
      anthropic('This model does not support the `effort` parameter.'),
      { code: 'invalid_request', message: 'This model does not support the effort parameter.' },
    ],
    [
      'a removed thinking mode',
      MESSAGES,
      anthropic(
        '"thinking.type.enabled" is not supported for this model. Use "thinking.type.adaptive" and "output_config.effort".',
      ),
      {
        code: 'unsupported_parameter',
        message: 'thinking.type is not supported for this model.',
        param: 'thinking.type',
      },
    ],
    [
      'removed sampling parameters',
      MESSAGES,
      anthropic('`temperature` is deprecated for this model.'),
      {
        code: 'unsupported_parameter',
        message: 'temperature is not supported for this model.',
        param: 'temperature',
      },
    ],
    [
      'an unsupported field of chat',
      CHAT,
      openai('x', 'unsupported_parameter', 'max_completion_tokens'),
      {
        code: 'unsupported_parameter',
        message: 'max_completion_tokens is not supported for this model.',
        param: 'max_completion_tokens',
      },
    ],
    [
      'an unsupported value of chat',
      CHAT,
      openai('x', 'unsupported_value', 'reasoning_effort'),
      {
        code: 'unsupported_parameter',
        message: 'The value of reasoning_effort is not supported for this model.',
        param: 'reasoning_effort',
      },
    ],
    [
      'the place of an invalid field of messages',
      MESSAGES,
      anthropic('messages.1.content.0.thinking.each_thinking: Field required'),
      {
        code: 'invalid_request',
        message: 'The upstream refused the request as invalid: see messages.1.content.0.thinking.',
        param: 'messages.1.content.0.thinking',
      },
    ],
    [
      'an image',
      MESSAGES,
      anthropic(
        'messages.0.content.1.image.source.base64: image exceeds 5 MB maximum: 6000000 bytes > 5242880 bytes',
      ),
      {
        code: 'invalid_request',
        message: 'image exceeds 5 MB maximum: 6000000 bytes > 5242880 bytes.',
        param: 'messages.0.content',
      },
    ],
    [
      'calls without results',
      MESSAGES,
      anthropic(
        'messages.2: `tool_use` ids were found without `tool_result` blocks immediately after: toolu_secret. Each …',
      ),
      {
        code: 'invalid_request',
        message: '`tool_use` ids were found without `tool_result` blocks immediately after.',
        param: 'messages',
      },
    ],
    [
      'results without a call',
      MESSAGES,
      anthropic(
        'messages.0.content.1: unexpected `tool_use_id` found in `tool_result` blocks: toolu_secret.',
      ),
      {
        code: 'invalid_request',
        message: 'unexpected `tool_use_id` found in `tool_result` blocks.',
        param: 'messages.0.content',
      },
    ],
    [
      'a call without its output',
      RESPONSES,
      openai('No tool output found for function call call_secret.', null, 'input'),
      {
        code: 'invalid_request',
        message: 'No tool output found for a tool call of the input.',
        param: 'input',
      },
    ],
    [
      'an unknown previous response',
      RESPONSES,
      openai(
        "Previous response with id 'resp_1' not found.",
        'previous_response_not_found',
        'previous_response_id',
      ),
      {
        code: 'previous_response_not_found',
        message: 'The upstream does not know the previous response.',
        param: 'previous_response_id',
      },
    ],
  ])('%s', (_, request, body, { param, ...expected }) => {
    const failure = refused(400, body, request)
    expect(failure).toMatchObject({ class: 'caller_fault', forCaller: { status: 400, ...expected } })
    expect(failure.forCaller?.param).toBe(param)
    expect(failure.carrierRefused).toBeUndefined()
  })

  test('a request that is too large', () => {
    const body = { type: 'error', error: { type: 'request_too_large', message: 'Request exceeds 32 MB' } }
    expect(refused(413, body, MESSAGES).forCaller).toMatchObject({ code: 'request_too_large', status: 413 })
    expect(refused(413, '<html>', MESSAGES).forCaller).toMatchObject({
      code: 'request_too_large',
      status: 413,
    })
  })

  test('a missing previous response is recognized with any status', () => {
    const body = openai('x', 'previous_response_not_found', 'previous_response_id')
    expect(refused(404, body, RESPONSES).forCaller).toMatchObject({
      code: 'previous_response_not_found',
      status: 400,
    })
  })

  test('a sentence about effort contains only levels', () => {
    const { forCaller } = refused(
      400,
      anthropic("effort level 'secret'. Supported levels: highest, secret"),
      MESSAGES,
    )
    expect(forCaller?.message).toBe('This model does not support the effort parameter.')
  })
})

test.each(['encrypted content ', 'max_tokens: 1', "item '", 'thinking blocks ', '`a`', 'a.', "'rs_"])(
  'endless repetitions of "%s" are read in linear time',
  (text) => {
    const body = anthropic(text.repeat(100_000 / text.length))
    expect(cpuMs(() => refused(400, body, MESSAGES))).toBeLessThan(2_000)
  },
)
