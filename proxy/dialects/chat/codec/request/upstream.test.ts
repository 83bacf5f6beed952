/** Requests of other dialects, as a chat upstream gets them. */
import { describe, expect, test } from 'vitest'
import { featuresOf } from '../../../../../contract/profiles.ts'
import type { AssistantPart, Carrier, ModelRequest, Reasoning, Turn, UserPart } from '../../../ir/types.ts'
import { decode, encode, foreign } from '../testing.ts'

const text = (t: string) => ({ type: 'text' as const, text: t })
const user = (...parts: UserPart[]): Turn => ({ role: 'user', parts })
const said = (...parts: AssistantPart[]): Turn => ({ role: 'assistant', parts })
const call = (callId: string, input = '{}'): AssistantPart => ({
  type: 'tool-call',
  callId,
  name: 'f',
  kind: 'function',
  input,
})
const SIGNED: Carrier = { dialect: 'messages', kind: 'signature', value: 'SIG' }

function messagesOf(turns: Turn[], overrides = {}, profile: Parameters<typeof encode>[1] = 'generic') {
  const { body, losses } = encode(foreign({ turns }), profile, overrides)
  return { messages: body.messages, losses }
}

function refused(fields: Partial<ModelRequest>, source?: ModelRequest['source'], overrides = {}): unknown {
  try {
    encode(foreign(fields, source), 'generic', overrides)
  } catch (error) {
    return error
  }
  return undefined
}

test('the conversation of all dialects', () => {
  const schema = {
    type: 'object',
    properties: { a: { type: 'string' } },
    required: ['a'],
    additionalProperties: false,
  }
  const parameters = { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] }
  const { body, losses } = encode(
    foreign({
      stream: true,
      wantsStreamUsage: true,
      maxOutputTokens: 2000,
      reasoning: { effort: 'high', thinking: 'adaptive', summary: 'auto' },
      parallelToolCalls: false,
      toolChoice: { type: 'required' },
      stop: ['END'],
      user: 'u1',
      tools: [{ type: 'function', name: 'get_weather', description: 'd', parameters }],
      format: { type: 'schema', name: 'out', strict: true, schema },
      turns: [
        { role: 'system', placement: 'top', parts: [text('S')] },
        user(text('What is here?'), {
          type: 'image',
          source: { kind: 'data', mediaType: 'image/png', base64: 'AAAA' },
          detail: 'low',
        }),
        said(
          { type: 'reasoning', texts: ['T'], carrier: SIGNED },
          text('Let me look.'),
          {
            type: 'tool-call',
            callId: 'call_1',
            name: 'get_weather',
            kind: 'function',
            input: '{"city":"Rome"}',
          },
          { type: 'tool-call', callId: 'call_2', name: 'get_weather', kind: 'function', input: '{}' },
        ),
        {
          role: 'tool',
          results: [
            { callId: 'call_1', parts: [text('20C')] },
            { callId: 'call_2', parts: [text('Error: city missing')], isError: true },
          ],
        },
        user(text('Go on')),
      ],
    }),
    'openai-reasoning',
    { developerRole: false, reasoningHistory: 'All' },
  )
  expect(body).toEqual({
    model: 'up',
    max_completion_tokens: 2000,
    reasoning_effort: 'high',
    parallel_tool_calls: false,
    tool_choice: 'required',
    stop: ['END'],
    safety_identifier: 'u1',
    stream: true,
    stream_options: { include_usage: true },
    tools: [{ type: 'function', function: { name: 'get_weather', description: 'd', parameters } }],
    response_format: { type: 'json_schema', json_schema: { name: 'out', strict: true, schema } },
    messages: [
      { role: 'system', content: 'S' },
      {
        role: 'user',
        content: [
          { type: 'text', text: 'What is here?' },
          { type: 'image_url', image_url: { url: 'data:image/png;base64,AAAA', detail: 'low' } },
        ],
      },
      {
        role: 'assistant',
        content: 'Let me look.',
        reasoning_content: 'T',
        tool_calls: [
          { id: 'call_1', type: 'function', function: { name: 'get_weather', arguments: '{"city":"Rome"}' } },
          { id: 'call_2', type: 'function', function: { name: 'get_weather', arguments: '{}' } },
        ],
      },
      { role: 'tool', tool_call_id: 'call_1', content: '20C' },
      { role: 'tool', tool_call_id: 'call_2', content: 'Error: city missing' },
      { role: 'user', content: 'Go on' },
    ],
  })
  expect(losses).toEqual(['messages.content.signature', 'messages.content.is_error'])
})

describe('features', () => {
  const body = (fields: Partial<ModelRequest>, overrides = {}, source?: ModelRequest['source']) =>
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
    ['a level that is there', { effort: 'high' }, {}, 'high', []],
    [
      'a model that does not think',
      { effort: 'high' },
      { reasoning: 'None' },
      undefined,
      ['output_config.effort'],
    ],
    ['nothing to forbid', { thinking: 'off' }, { reasoning: 'None' }, undefined, []],
    ['thinking switched off', { thinking: 'off', effort: 'high' }, {}, 'none', []],
    ['off, but it always thinks', { thinking: 'off' }, { efforts: ['low', 'high'] }, 'low', ['thinking']],
    [
      'the nearest level',
      { effort: 'max' },
      { efforts: ['low', 'medium', 'high'] },
      'high',
      ['output_config.effort'],
    ],
    [
      'of two the weaker',
      { effort: 'medium' },
      { efforts: ['low', 'high'] },
      'low',
      ['output_config.effort'],
    ],
    [
      'never none',
      { effort: 'minimal' },
      { efforts: ['none', 'medium'] },
      'medium',
      ['output_config.effort'],
    ],
    ['a budget', { budgetTokens: 4096 }, {}, 'high', ['thinking.budget_tokens']],
    ['a middle budget', { budgetTokens: 2048 }, {}, 'medium', ['thinking.budget_tokens']],
    ['a small budget', { budgetTokens: 1024 }, {}, 'low', ['thinking.budget_tokens']],
    ['left to the model', { thinking: 'adaptive' }, {}, undefined, []],
  ])('effort: %s', (_, reasoning, overrides, expected, losses) => {
    const encoded = body({ reasoning }, overrides)
    expect(encoded.body.reasoning_effort).toBe(expected)
    expect(encoded.losses).toEqual(losses)
  })

  test('which turns get their reasoning back', () => {
    const turns = [
      user(text('a')),
      said({ type: 'reasoning', texts: ['T1', 'T2'] }, text('x')),
      user(text('b')),
      said({ type: 'reasoning', texts: ['T3'] }, call('1')),
      { role: 'tool' as const, results: [{ callId: '1', parts: [] }] },
    ]
    const thoughts = (reasoningHistory: string) =>
      (messagesOf(turns, { reasoningHistory }).messages as Record<string, unknown>[])
        .map((m) => m.reasoning_content)
        .filter((t) => t !== undefined)
    expect(thoughts('All')).toEqual(['T1\n\nT2', 'T3'])
    expect(thoughts('CurrentTurn')).toEqual(['T3'])
    expect(thoughts('None')).toEqual([])
    expect(messagesOf(turns, { reasoningHistory: 'None' }).losses).toEqual(['messages.content.signature'])
  })

  test('what a chat upstream gave comes back as it was, what others gave does not', () => {
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
      said(
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
        said({ type: 'reasoning', texts: [], carrier: SIGNED }, text('x')),
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

  test('nothing beside calls is null, or empty where null is refused', () => {
    const turns = [said(call('1')), { role: 'tool' as const, results: [{ callId: '1', parts: [] }] }]
    expect(messagesOf(turns).messages).toMatchObject([{ content: null }, { role: 'tool', content: '' }])
    expect(messagesOf(turns, { nullContent: false }).messages).toMatchObject([{ content: '' }, {}])
  })

  test('developer messages', () => {
    const turns: Turn[] = [
      user(text('a')),
      { role: 'system', placement: 'message', developer: true, parts: [text('D')] },
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
      losses: [],
    })
  })

  test('a schema for an upstream that holds to none', () => {
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
    expect(losses).toEqual(['output_config.format.schema'])
  })

  test('a schema of the messages API is strict where it can be', () => {
    const closed = {
      type: 'object',
      properties: { a: { type: 'object', properties: {}, additionalProperties: false } },
      required: ['a'],
      additionalProperties: false,
    }
    const strictOf = (schema: Record<string, unknown>) =>
      body({ format: { type: 'schema', schema } }).body.response_format
    expect(strictOf(closed)).toEqual({
      type: 'json_schema',
      json_schema: { name: 'response', schema: closed, strict: true },
    })
    expect(strictOf({ ...closed, required: [] })).toMatchObject({ json_schema: { strict: false } })
  })

  test('the fast tier costs more: only where it is allowed', () => {
    expect(body({ tier: 'fast' })).toMatchObject({ losses: ['speed'] })
    expect(body({ tier: 'fast' }).body).not.toHaveProperty('service_tier')
    expect(body({ tier: 'fast' }, { speed: true }).body).toMatchObject({ service_tier: 'fast' })
  })

  test('the session of an agent is the cache key of OpenAI', () => {
    const user = JSON.stringify({ session_id: '5e55' })
    expect(body({ user }, { maxCompletionTokens: true }).body).toMatchObject({ prompt_cache_key: '5e55' })
    expect(body({ user }).body).not.toHaveProperty('prompt_cache_key')
  })

  test('thoughts without a word after them are no message', () => {
    const turns: ModelRequest['turns'] = [
      { role: 'user', parts: [{ type: 'text', text: 'Hi' }] },
      { role: 'assistant', parts: [{ type: 'reasoning', texts: ['T'] }] },
    ]
    const { body: written, losses } = body({ turns })
    expect(written.messages).toEqual([{ role: 'user', content: 'Hi' }])
    expect(losses).toContain('messages.content.signature')
  })

  test('long user ids are shortened', () => {
    expect(body({ user: 'u'.repeat(128) }).body.user).toBe('u'.repeat(128))
    expect(body({ user: 'u'.repeat(129) }).body.user).toMatch(/^[0-9a-f]{64}$/)
  })

  test('store is only told when it is wanted', () => {
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

describe('tools', () => {
  const tool = { type: 'function' as const, name: 'f' }

  test('in chat’s words', () => {
    const { body } = encode(
      foreign({
        tools: [
          { ...tool, strict: true },
          { type: 'custom', name: 'c', grammar: { syntax: 'lark', definition: 'x' } },
        ],
        toolChoice: { type: 'allowed', mode: 'auto', tools: [{ kind: 'custom', name: 'c' }] },
        parallelToolCalls: true,
      }),
    )
    expect(body.tools).toEqual([
      {
        type: 'function',
        function: { name: 'f', parameters: { type: 'object', properties: {} }, strict: true },
      },
      {
        type: 'custom',
        custom: { name: 'c', format: { type: 'grammar', grammar: { syntax: 'lark', definition: 'x' } } },
      },
    ])
    expect(body.tool_choice).toEqual({
      type: 'allowed_tools',
      allowed_tools: { mode: 'auto', tools: [{ type: 'custom', custom: { name: 'c' } }] },
    })
    expect(body).not.toHaveProperty('parallel_tool_calls')
  })

  test('without tools nothing is said of them', () => {
    const { body } = encode(foreign({ toolChoice: { type: 'auto' }, parallelToolCalls: false }))
    expect(Object.keys(body)).toEqual(['model', 'messages'])
  })

  test('strict only where it is held', () => {
    const { body, losses } = encode(
      foreign({
        tools: [
          { ...tool, strict: true },
          { ...tool, name: 'g', strict: false },
        ],
      }),
      'generic',
      { structuredOutput: false },
    )
    expect(JSON.stringify(body.tools)).not.toContain('strict')
    expect(losses).toEqual(['tools.strict'])
  })

  test('web search', () => {
    const search = { type: 'web-search' as const, userLocation: { city: 'Rome' } }
    expect(encode(foreign({ tools: [search] }))).toMatchObject({ losses: ['tools'] })
    expect(
      encode(foreign({ tools: [search] }), 'generic', { webSearch: true }).body.web_search_options,
    ).toEqual({
      user_location: { type: 'approximate', approximate: { city: 'Rome' } },
    })
    expect(refused({ tools: [search], toolChoice: { type: 'web-search' } })).toMatchObject({
      code: 'unsupported_parameter',
      param: 'tool_choice',
    })
  })
})

describe('content that has its place elsewhere', () => {
  const image = { type: 'image' as const, source: { kind: 'url' as const, url: 'https://example.com/a.png' } }
  const written = { type: 'image_url', image_url: { url: 'https://example.com/a.png' } }

  test('images of tool results follow all results, before what the user says', () => {
    const turns: Turn[] = [
      said(call('1'), call('2')),
      {
        role: 'tool',
        results: [
          { callId: '1', parts: [text('r'), image] },
          { callId: '2', parts: [text('s')] },
        ],
      },
      user(text('u')),
    ]
    const { messages, losses } = messagesOf(turns)
    expect(messages).toMatchObject([
      { role: 'assistant' },
      { role: 'tool', tool_call_id: '1', content: [{ type: 'text', text: 'r' }, { type: 'text' }] },
      { role: 'tool', tool_call_id: '2', content: 's' },
      { role: 'user', content: [{ type: 'text' }, written, { type: 'text', text: 'u' }] },
    ])
    expect(losses).toEqual(['messages.content.content'])
    expect(messagesOf(turns.slice(0, 2)).messages).toHaveLength(4)
  })

  test('images of assistants come from the user', () => {
    expect(messagesOf([said(text('x'), image), user(text('u'))])).toEqual({
      messages: [
        { role: 'assistant', content: 'x' },
        { role: 'user', content: [written, { type: 'text', text: 'u' }] },
      ],
      losses: ['messages.content.source'],
    })
  })

  test('a failed call says so', () => {
    const results = [
      { callId: '1', parts: [text('no')], isError: true },
      { callId: '2', parts: [], isError: true },
      { callId: '3', parts: [text('Error: no')], isError: true },
    ]
    const { messages, losses } = messagesOf([{ role: 'tool', results }])
    expect(messages).toMatchObject([{ content: 'Error: no' }, { content: 'Error' }, { content: 'Error: no' }])
    expect(losses).toEqual(['messages.content.is_error'])
  })

  test('files', () => {
    const file = (source: object, name?: string) =>
      ({ type: 'file' as const, source, ...(name && { name }) }) as UserPart
    const { messages } = messagesOf([
      user(
        file({ kind: 'data', mediaType: 'application/pdf', base64: 'AAAA' }, 'a.pdf'),
        file({ kind: 'text', mediaType: 'text/plain', text: 'hi' }),
        file({ kind: 'id', id: 'file-1', vendor: 'openai' }),
      ),
    ])
    expect(messages).toMatchObject([
      {
        content: [
          { type: 'file', file: { file_data: 'data:application/pdf;base64,AAAA', filename: 'a.pdf' } },
          { type: 'file', file: { file_data: 'data:text/plain;base64,aGk=', filename: 'document.txt' } },
          { type: 'file', file: { file_id: 'file-1' } },
        ],
      },
    ])
    const url = { type: 'file' as const, source: { kind: 'url' as const, url: 'https://example.com/a.pdf' } }
    expect(refused({ turns: [user(url)] })).toMatchObject({
      code: 'unsupported_parameter',
      param: 'messages.content.source',
    })
  })

  test('more than four stop sequences are the client’s to cut', () => {
    expect(encode(foreign({ stop: ['1', '2', '3', '4'] })).body.stop).toHaveLength(4)
    expect(refused({ stop: ['1', '2', '3', '4', '5'] })).toMatchObject({
      code: 'unsupported_parameter',
      param: 'stop_sequences',
    })
  })

  test('state that was taken out does not come back with its spelling', () => {
    const message = {
      role: 'assistant',
      content: 'x',
      reasoning_content: 'T',
      reasoning_details: [{ type: 'reasoning.text', text: 'T', signature: 'SIG' }],
    }
    const request = decode({ messages: [{ role: 'user', content: 'a' }, message] })
    const without: ModelRequest = {
      ...request,
      turns: request.turns.map((turn) =>
        turn.role === 'assistant'
          ? {
              ...turn,
              parts: turn.parts.map((p) =>
                p.type === 'reasoning' ? { type: 'reasoning' as const, texts: p.texts } : p,
              ),
            }
          : turn,
      ),
    }
    expect(encode(without).body.messages).toEqual([
      { role: 'user', content: 'a' },
      { role: 'assistant', content: 'x', reasoning_content: 'T' },
    ])
  })
})

test('a conversation of which nothing is left is one empty message', () => {
  expect(messagesOf([]).messages).toEqual([{ role: 'user', content: '' }])
})

test('every profile of chat writes a body', () => {
  for (const profile of ['generic', 'openai', 'openai-reasoning'] as const) {
    expect(featuresOf('chat_completion', profile).streamUsage).toBe(true)
    expect(encode(foreign({ stream: true }), profile).body).toMatchObject({ model: 'up', stream: true })
  }
})
