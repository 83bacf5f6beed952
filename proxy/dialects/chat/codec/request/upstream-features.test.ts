/** Requests of other dialects, encoded for upstreams with different features. */

import { describe, expect, test } from 'vitest'
import type { ApiName } from '../../../../../contract/apis.ts'
import type { Carrier, ModelRequest, Reasoning, Turn } from '../../../core/neutral/types.ts'
import { encode, foreign } from '../testing.ts'
import { assistant, call, messagesOf, SIGNED, text, user } from './upstream-testing.ts'

describe('features', () => {
  const body = (fields: Partial<ModelRequest>, overrides = {}, source?: ApiName) =>
    encode(foreign(fields, source), 'generic', overrides)

  test('the name of the output limit', () => {
    expect(body({ maxOutputTokens: 5 }).body).toMatchObject({ max_tokens: 5 })
    const newer = body({ maxOutputTokens: 5 }, { maxCompletionTokens: true }).body
    expect(newer).toMatchObject({ max_completion_tokens: 5 })
    expect(newer).not.toHaveProperty('max_tokens')
    expect(body({}).body).toEqual({ model: 'up', messages: [{ role: 'user', content: 'Hi' }] })
  })

  test('sampling', () => {
    const fields = { temperature: 0.5, topP: 1, topK: 3 }
    expect(body(fields)).toMatchObject({ body: { temperature: 0.5, top_p: 1 }, losses: ['top_k'] })
    const fixed = body(fields, { sampling: false })
    expect(fixed.body).toMatchObject({ top_p: 1 })
    expect(fixed.body).not.toHaveProperty('temperature')
    expect(fixed.losses).toEqual(['top_k', 'temperature'])
    expect(body({ temperature: 1 }, { sampling: false })).toMatchObject({
      body: { temperature: 1 },
      losses: [],
    })
  })

  test.each<[string, Reasoning, object, string | undefined, string[]]>([
    ['a supported level', { effort: 'high' }, {}, 'high', []],
    [
      'a model without reasoning',
      { effort: 'high' },
      { reasoning: 'None' },
      undefined,
      ['output_config.effort'],
    ],
    ['off for a model without reasoning', { thinking: 'off' }, { reasoning: 'None' }, undefined, []],
    ['thinking off', { thinking: 'off', effort: 'high' }, {}, 'none', []],
    [
      'off for a model that always thinks',
      { thinking: 'off' },
      { efforts: ['low', 'high'] },
      'low',
      ['thinking'],
    ],
    [
      'the nearest level',
      { effort: 'max' },
      { efforts: ['low', 'medium', 'high'] },
      'high',
      ['output_config.effort'],
    ],
    [
      'between two levels the weaker',
      { effort: 'medium' },
      { efforts: ['low', 'high'] },
      'low',
      ['output_config.effort'],
    ],
    [
      'none is never chosen',
      { effort: 'minimal' },
      { efforts: ['none', 'medium'] },
      'medium',
      ['output_config.effort'],
    ],
    ['a budget', { budgetTokens: 4096 }, {}, 'high', ['thinking.budget_tokens']],
    ['a medium budget', { budgetTokens: 2048 }, {}, 'medium', ['thinking.budget_tokens']],
    ['a small budget', { budgetTokens: 1024 }, {}, 'low', ['thinking.budget_tokens']],
    ['left to the model', { thinking: 'adaptive' }, {}, undefined, []],
  ])('effort: %s', (_, reasoning, overrides, expected, losses) => {
    const encoded = body({ reasoning }, overrides)
    expect(encoded.body.reasoning_effort).toBe(expected)
    expect(encoded.losses).toEqual(losses)
  })

  test('reasoning is sent only in the turns that the upstream accepts', () => {
    const turns = [
      user(text('a')),
      assistant({ type: 'reasoning', texts: ['T1', 'T2'] }, text('x')),
      user(text('b')),
      assistant({ type: 'reasoning', texts: ['T3'] }, call('1')),
      { role: 'tool' as const, results: [{ callId: '1', parts: [] }] },
    ]
    const thoughts = (reasoningHistory: string) =>
      (messagesOf(turns, { reasoningHistory }).messages as Record<string, unknown>[])
        .map((m) => m.reasoning_content)
        .filter((t) => t !== undefined)
    expect(thoughts('All')).toEqual(['T1\n\nT2', 'T3'])
    expect(thoughts('CurrentTurn')).toEqual(['T3'])
    expect(thoughts('None')).toEqual([])
    expect(messagesOf(turns, { reasoningHistory: 'None' }).losses).toEqual(['messages.content.thinking'])
  })

  test('state of a chat upstream is returned unchanged, other state is dropped', () => {
    const details: Carrier = {
      dialect: 'chat',
      kind: 'details',
      value: '[{"type":"reasoning.encrypted","data":"D"}]',
    }
    const extra: Carrier = {
      dialect: 'chat',
      kind: 'extra_content',
      value: '{"google":{"thought_signature":"S"}}',
    }
    const { messages, losses } = messagesOf([
      user(text('a')),
      assistant(
        { type: 'reasoning', texts: [], carrier: details },
        { type: 'tool-call', callId: '1', name: 'f', kind: 'function', input: '{}', carrier: extra },
      ),
    ])
    expect(messages).toMatchObject([
      {},
      {
        reasoning_details: [{ type: 'reasoning.encrypted', data: 'D' }],
        tool_calls: [{ extra_content: { google: { thought_signature: 'S' } } }],
      },
    ])
    expect(losses).toEqual(['messages'])
    expect(
      messagesOf([
        user(text('a')),
        assistant({ type: 'reasoning', texts: [], carrier: SIGNED }, text('x')),
        user(text('b')),
      ]),
    ).toEqual({
      messages: [
        { role: 'user', content: 'a' },
        { role: 'assistant', content: 'x' },
        { role: 'user', content: 'b' },
      ],
      losses: ['messages.content.signature'],
    })
  })

  test('the content of calls without text is null, or empty for upstreams that refuse null', () => {
    const turns = [assistant(call('1')), { role: 'tool' as const, results: [{ callId: '1', parts: [] }] }]
    expect(messagesOf(turns).messages).toMatchObject([{ content: null }, { role: 'tool', content: '' }])
    expect(messagesOf(turns, { nullContent: false }).messages).toMatchObject([{ content: '' }, {}])
  })

  test('developer messages', () => {
    const turns: Turn[] = [
      user(text('a')),
      { role: 'system', placement: 'message', parts: [text('D')] },
      { role: 'system', placement: 'top', parts: [text('S1'), text('S2')] },
    ]
    expect(messagesOf(turns).messages).toEqual([
      { role: 'system', content: 'S1\n\nS2' },
      { role: 'user', content: 'a' },
      { role: 'system', content: 'D' },
    ])
    expect(messagesOf(turns, { developerRole: true }).messages).toMatchObject([
      { role: 'developer' },
      {},
      { role: 'developer' },
    ])
  })

  test('cache marks', () => {
    const turns = [user({ ...text('a'), cache: { ttl: '1h' } })]
    expect(messagesOf(turns)).toEqual({
      messages: [{ role: 'user', content: 'a' }],
      losses: ['messages.content.cache_control'],
    })
    expect(messagesOf(turns, { cacheMarks: true })).toEqual({
      messages: [
        {
          role: 'user',
          content: [{ type: 'text', text: 'a', prompt_cache_breakpoint: { mode: 'explicit', ttl: '12h' } }],
        },
      ],
      // Its lifetime is longer than the client requested.
      losses: ['messages.content.cache_control.ttl'],
    })
  })

  test('a schema for an upstream that does not enforce schemas', () => {
    const schema = { type: 'object', properties: {} }
    const { body: encoded, losses } = body(
      { format: { type: 'schema', schema } },
      { structuredOutput: false },
    )
    expect(encoded.response_format).toEqual({ type: 'json_object' })
    expect(encoded.messages).toMatchObject([
      { role: 'system', content: expect.stringContaining(JSON.stringify(schema)) },
      { role: 'user' },
    ])
    expect(losses).toEqual(['output_config.format'])
  })

  test('a schema that the client’s API would enforce is strict if possible', () => {
    const closed = {
      type: 'object',
      properties: { a: { type: 'object', properties: {}, additionalProperties: false } },
      required: ['a'],
      additionalProperties: false,
    }
    const strictOf = (schema: Record<string, unknown>) =>
      body({ format: { type: 'schema', schema, enforced: true } }).body.response_format
    expect(strictOf(closed)).toEqual({
      type: 'json_schema',
      json_schema: { name: 'response', schema: closed, strict: true },
    })
    expect(strictOf({ ...closed, required: [] })).toMatchObject({ json_schema: { strict: false } })
  })

  test('speed, which costs more, is sent as a tier only if it is allowed', () => {
    expect(body({ tier: 'fast', speed: true })).toMatchObject({ losses: ['speed'] })
    expect(body({ tier: 'fast', speed: true }).body).not.toHaveProperty('service_tier')
    expect(body({ tier: 'fast', speed: true }, { speed: true }).body).toMatchObject({ service_tier: 'fast' })
  })

  test('the session of an agent is the cache key of OpenAI', () => {
    const session = '5e55'
    expect(body({ session }, { maxCompletionTokens: true }).body).toMatchObject({ prompt_cache_key: '5e55' })
    expect(body({ session }).body).not.toHaveProperty('prompt_cache_key')
  })

  test('reasoning without content after it is not a message', () => {
    const turns: ModelRequest['turns'] = [
      { role: 'user', parts: [{ type: 'text', text: 'Hi' }] },
      { role: 'assistant', parts: [{ type: 'reasoning', texts: ['T'] }] },
    ]
    const { body: written, losses } = body({ turns })
    expect(written.messages).toEqual([{ role: 'user', content: 'Hi' }])
    expect(losses).toContain('messages.content.thinking')
  })

  test('long user ids are shortened', () => {
    expect(body({ user: 'u'.repeat(128) }).body.user).toBe('u'.repeat(128))
    expect(body({ user: 'u'.repeat(129) }).body.user).toMatch(/^[0-9a-f]{64}$/)
  })

  test('store is sent only if it is true', () => {
    expect(body({ store: false }, {}, 'responses').body).not.toHaveProperty('store')
    expect(body({ store: true }, {}, 'responses').body).toMatchObject({ store: true })
  })

  test('token probabilities', () => {
    expect(body({ logprobs: { top: 3 } }, {}, 'responses').body).toMatchObject({
      logprobs: true,
      top_logprobs: 3,
    })
  })
})
