import { describe, expect, test } from 'vitest'
import type { ParsedRequest } from '../request.ts'
import { readFailure } from './read.ts'
import * as errorOf from './testing.ts'
import { refused, requestOf } from './testing.ts'

const MESSAGES = requestOf({
  model: 'm',
  max_tokens: 9,
  messages: [
    { role: 'user', content: 'hi' },
    { role: 'assistant', content: [{ type: 'thinking', thinking: 'T', signature: 'S' }] },
  ],
})
const RESPONSES = requestOf({ model: 'm', input: [{ type: 'reasoning', id: 'rs_1' }] })
const CHAT = requestOf({ model: 'm', messages: [] })

const anthropic = (message: string) => errorOf.anthropic('invalid_request_error', message)
const openai = (message: string, code: string | null = null, param: string | null = null) =>
  errorOf.openai(code, message, 'invalid_request_error', param)

describe('opaque state of an upstream', () => {
  test.each<[string, ParsedRequest, number, object]>([
    [
      'a signature',
      MESSAGES,
      400,
      anthropic('messages.1.content.0: Invalid `signature` in `thinking` block'),
    ],
    ['no signature', MESSAGES, 400, anthropic('messages.1.content.0.thinking.signature: Field required')],
    ['redacted data', MESSAGES, 400, anthropic('Invalid `data` in `redacted_thinking` block')],
    [
      'changed blocks',
      MESSAGES,
      400,
      anthropic(
        'messages.1.content.0: `thinking` or `redacted_thinking` blocks in the latest assistant message cannot be modified.',
      ),
    ],
    [
      'a thought signature',
      CHAT,
      400,
      [{ error: { code: 400, message: 'Thought signature is not valid.' } }],
    ],
    [
      'encrypted content',
      RESPONSES,
      400,
      openai(
        `The encrypted content gAAA${'x'.repeat(800)} could not be verified. Reason: it could not be decrypted.`,
      ),
    ],
    ['encrypted content by its code', RESPONSES, 400, openai('x', 'invalid_encrypted_content')],
    [
      'an item',
      RESPONSES,
      404,
      openai("Item with id 'rs_1' not found. Items are not persisted when `store` is set to false."),
    ],
    ['an item, in the short form', RESPONSES, 400, openai("Item 'rs_1' not found.")],
    [
      'an item without its companion',
      RESPONSES,
      400,
      openai("Item 'rs_1' of type 'reasoning' was provided without its required following item."),
    ],
    [
      'a companion without its item',
      RESPONSES,
      400,
      openai(
        "Item 'fc_1' of type 'function_call' was provided without its required 'reasoning' item: 'rs_1'.",
      ),
    ],
  ])('is refused: %s', (_, request, status, body) => {
    const failure = refused(status, body, request)
    expect(failure).toMatchObject({
      class: 'caller_fault',
      carrierRefused: true,
      forCaller: { code: 'invalid_request', status: 400 },
    })
    expect(failure.forCaller?.message).not.toMatch(/gAAA|rs_1|fc_1/)
  })

  test('is refused in a stream too', () => {
    const response = { error: { code: 'invalid_encrypted_content', message: 'x' } }
    expect(readFailure({ type: 'response.failed', response }, RESPONSES, 'x').carrierRefused).toBe(true)
  })

  test.each<[string, number, object]>([
    [
      'a budget',
      400,
      anthropic('thinking.enabled.budget_tokens: Input should be greater than or equal to 1024'),
    ],
    [
      'sampling beside thinking',
      400,
      anthropic('`temperature` may only be set to 1 when thinking is enabled.'),
    ],
    [
      'thinking that is missing',
      400,
      anthropic('messages.1.content.0.type: Expected `thinking` or `redacted_thinking`, but found `text`.'),
    ],
    ['a function signature', 400, openai('The function signature is not valid.')],
    ['a model', 404, openai('The model `m` does not exist', 'model_not_found')],
    ['another fault', 500, anthropic('Invalid `signature` in `thinking` block')],
  ])('is not the cause: %s', (_, status, body) => {
    expect(refused(status, body, MESSAGES).carrierRefused).toBeUndefined()
  })
})
