import { describe, expect, test } from 'vitest'
import { type Features, featuresOf } from '../../../../../contract/profiles.ts'
import { Losses } from '../../../ir/losses.ts'
import type { AssistantPart, ModelRequest, Tool, ToolChoice, Turn, UserPart } from '../../../ir/types.ts'
import { encodeRequest } from './encode-request.ts'

const ADAPTIVE = featuresOf('messages', 'anthropic-adaptive')
const BUDGET = featuresOf('messages', 'anthropic')
const SCHEMA = {
  type: 'object',
  properties: { a: { type: 'string' } },
  required: ['a'],
  additionalProperties: false,
}
const PARAMETERS = { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] }

function encode(fields: Partial<ModelRequest>, features: Partial<Features> = {}, base = ADAPTIVE) {
  const request: ModelRequest = {
    source: 'chat',
    model: 'route',
    stream: false,
    turns: [{ role: 'user', parts: [{ type: 'text', text: 'Q' }] }],
    tools: [],
    ...fields,
  }
  const losses = new Losses()
  const target = { model: 'M', features: { ...base, ...features }, defaultMaxOutputTokens: 8192, losses }
  const { body, headers } = encodeRequest(request, target)
  return { body, headers, losses: losses.names.sort() }
}
function user(...parts: UserPart[]): Turn {
  return { role: 'user', parts }
}
function text(text: string): Turn {
  return user({ type: 'text', text })
}
function system(text: string, placement: 'top' | 'message' = 'message'): Turn {
  return { role: 'system', placement, parts: [{ type: 'text', text }] }
}
function assistant(...parts: AssistantPart[]): Turn {
  return { role: 'assistant', parts }
}
const block = (text: string) => ({ type: 'text', text })
const call = (callId: string, input = '{}'): AssistantPart => ({
  type: 'tool-call',
  kind: 'function',
  callId,
  name: 't',
  input,
})
const result = (callId: string, text: string): Turn => ({
  role: 'tool',
  results: [{ callId, parts: text === '' ? [] : [{ type: 'text', text }] }],
})

test('the conversation of the protocol notes, as it comes from chat', () => {
  const { body, headers, losses } = encode({
    maxOutputTokens: 2000,
    reasoning: { effort: 'high' },
    parallelToolCalls: false,
    toolChoice: { type: 'required' },
    stop: ['END'],
    user: 'u1',
    stream: true,
    tools: [{ type: 'function', name: 'get_weather', description: 'd', parameters: PARAMETERS }],
    format: { type: 'schema', name: 'out', strict: true, schema: SCHEMA },
    turns: [
      system('S'),
      user(
        { type: 'text', text: 'What is here?' },
        { type: 'image', source: { kind: 'data', mediaType: 'image/png', base64: 'AAAA' }, detail: 'low' },
      ),
      assistant(
        {
          type: 'reasoning',
          texts: ['T'],
          carrier: { dialect: 'messages', kind: 'signature', value: 'SIG' },
        },
        { type: 'text', text: 'Let me look.' },
        {
          type: 'tool-call',
          kind: 'function',
          callId: 'call_1',
          name: 'get_weather',
          input: '{"city":"Rome"}',
        },
        { type: 'tool-call', kind: 'function', callId: 'call_2', name: 'get_weather', input: '{}' },
      ),
      {
        role: 'tool',
        results: [
          { callId: 'call_1', parts: [{ type: 'text', text: '20C' }] },
          { callId: 'call_2', parts: [{ type: 'text', text: 'Error: city missing' }] },
        ],
      },
      text('Go on'),
    ],
  })
  expect(body).toEqual({
    model: 'M',
    max_tokens: 2000,
    thinking: { type: 'adaptive', display: 'summarized' },
    output_config: { effort: 'high', format: { type: 'json_schema', schema: SCHEMA } },
    stop_sequences: ['END'],
    metadata: { user_id: 'u1' },
    stream: true,
    tool_choice: { type: 'any', disable_parallel_tool_use: true },
    tools: [{ name: 'get_weather', description: 'd', input_schema: PARAMETERS }],
    system: [block('S')],
    messages: [
      {
        role: 'user',
        content: [
          block('What is here?'),
          { type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'AAAA' } },
        ],
      },
      {
        role: 'assistant',
        content: [
          { type: 'thinking', thinking: 'T', signature: 'SIG' },
          block('Let me look.'),
          { type: 'tool_use', id: 'call_1', name: 'get_weather', input: { city: 'Rome' } },
          { type: 'tool_use', id: 'call_2', name: 'get_weather', input: {} },
        ],
      },
      {
        role: 'user',
        content: [
          { type: 'tool_result', tool_use_id: 'call_1', content: '20C' },
          { type: 'tool_result', tool_use_id: 'call_2', content: 'Error: city missing' },
          block('Go on'),
        ],
      },
    ],
  })
  expect(headers).toEqual({ 'anthropic-version': '2023-06-01' })
  expect(losses).toEqual([
    'messages.content.image_url.detail',
    'response_format.json_schema.name',
    'response_format.json_schema.strict',
  ])
})

test('a request without anything gets the limit that the API demands', () => {
  expect(encode({})).toMatchObject({
    body: { model: 'M', max_tokens: 8192, messages: [{ role: 'user', content: [block('Q')] }] },
    losses: [],
  })
  expect(Object.keys(encode({}).body).sort()).toEqual(['max_tokens', 'messages', 'model'])
})

describe('scalars', () => {
  test.each<[string, Partial<ModelRequest>, Partial<Features>, object, string[]]>([
    [
      'sampling that is taken',
      { temperature: 0.5, topP: 0.9, topK: 3 },
      { sampling: true },
      { temperature: 0.5, top_p: 0.9, top_k: 3 },
      [],
    ],
    [
      'a temperature that is too high',
      { temperature: 1.5 },
      { sampling: true },
      { temperature: 1 },
      ['temperature'],
    ],
    [
      'sampling that is not taken',
      { temperature: 0, topP: 1 },
      { sampling: false },
      { temperature: undefined, top_p: undefined },
      ['temperature', 'top_p'],
    ],
    ['stops of white space', { stop: ['a', ' \n', ''] }, {}, { stop_sequences: ['a'] }, ['stop']],
    ['nothing but such stops', { stop: [' '] }, {}, { stop_sequences: undefined }, ['stop']],
    ['the default tier', { tier: 'default' }, {}, { service_tier: 'standard_only' }, []],
    ['any tier', { tier: 'auto' }, {}, { service_tier: 'auto' }, []],
    ['a slow tier', { tier: 'flex' }, {}, { service_tier: undefined, speed: undefined }, ['service_tier']],
    ['a fast tier that is not offered', { tier: 'priority' }, {}, { speed: undefined }, ['service_tier']],
    ['a fast tier that is offered', { tier: 'priority' }, { speed: true }, { speed: 'fast' }, []],
    [
      'what this API lacks',
      {
        seed: 1,
        frequencyPenalty: 0,
        presencePenalty: 1,
        verbosity: 'low',
        metadata: { a: 'b' },
        cacheKey: 'k',
        store: true,
      },
      {},
      {},
      ['frequency_penalty', 'metadata', 'presence_penalty', 'prompt_cache_key', 'seed', 'store', 'verbosity'],
    ],
    ['nothing is stored anyway', { store: false }, {}, {}, []],
    [
      'json without a schema',
      { format: { type: 'json' } },
      {},
      {
        output_config: undefined,
        system: [block('Reply with JSON only, without any other text and without code fences.')],
      },
      ['response_format'],
    ],
  ])('%s', (_, fields, features, expected, lost) => {
    const { body, losses } = encode(fields, features)
    for (const [key, value] of Object.entries(expected)) expect(body[key]).toEqual(value)
    expect(losses).toEqual(lost)
  })

  test('speed needs its beta', () => {
    expect(encode({ tier: 'fast' }, { speed: true }).headers).toEqual({
      'anthropic-version': '2023-06-01',
      'anthropic-beta': 'fast-mode-2026-02-01',
    })
  })

  test.each<[string, Partial<ModelRequest>]>([
    ['n', { choices: 2 }],
    ['logprobs', { logprobs: { top: 0 } }],
    ['messages.content.input_audio', { turns: [user({ type: 'audio', base64: 'AAAA', format: 'wav' })] }],
    [
      'messages.content.image_url',
      { turns: [user({ type: 'image', source: { kind: 'data', mediaType: 'image/bmp', base64: 'AAAA' } })] },
    ],
    [
      'messages.content.image_url',
      { turns: [user({ type: 'image', source: { kind: 'id', id: 'f', vendor: 'openai' } })] },
    ],
    [
      'messages.content.file',
      { turns: [user({ type: 'file', source: { kind: 'id', id: 'f', vendor: 'openai' } })] },
    ],
    [
      'messages.content.file',
      {
        turns: [
          user({ type: 'file', source: { kind: 'data', mediaType: 'application/zip', base64: 'AAAA' } }),
        ],
      },
    ],
    [
      'messages.tool_calls.function.arguments',
      { turns: [text('Q'), assistant(call('c', '{"a":')), result('c', 'R')] },
    ],
    [
      'messages.tool_calls.function.arguments',
      { turns: [text('Q'), assistant(call('c', '[1]')), result('c', 'R')] },
    ],
  ])('%s is refused by name', (param, fields) => {
    expect(() => encode(fields)).toThrow(expect.objectContaining({ code: 'unsupported_parameter', param }))
  })
})

describe('thinking', () => {
  const adaptive = { type: 'adaptive', display: 'summarized' }
  test.each<[string, Partial<ModelRequest>, Partial<Features>, object, string[]]>([
    [
      'a level',
      { reasoning: { effort: 'max' } },
      {},
      { thinking: adaptive, output_config: { effort: 'max' } },
      [],
    ],
    [
      'less than the least',
      { reasoning: { effort: 'minimal' } },
      {},
      { thinking: adaptive, output_config: { effort: 'low' } },
      ['reasoning_effort'],
    ],
    [
      'more than the model has',
      { reasoning: { effort: 'max' } },
      { efforts: ['low', 'high'] },
      { output_config: { effort: 'high' } },
      ['reasoning_effort'],
    ],
    [
      'between two levels the weaker',
      { reasoning: { effort: 'medium' } },
      { efforts: ['low', 'high'] },
      { output_config: { effort: 'low' } },
      ['reasoning_effort'],
    ],
    [
      'none',
      { reasoning: { effort: 'none' } },
      {},
      { thinking: { type: 'disabled' }, output_config: undefined },
      [],
    ],
    [
      'none where it is refused',
      { reasoning: { effort: 'none' } },
      { efforts: ['low'] },
      { thinking: undefined, output_config: undefined },
      ['reasoning_effort'],
    ],
    [
      'thoughts alone',
      { reasoning: { summary: 'auto' } },
      {},
      { thinking: adaptive, output_config: undefined },
      [],
    ],
    [
      'no thoughts to read',
      { reasoning: { effort: 'low', summary: 'none' } },
      {},
      { thinking: { type: 'adaptive', display: 'omitted' } },
      [],
    ],
    [
      'by effort alone',
      { reasoning: { effort: 'low' } },
      { reasoning: 'Effort' },
      { thinking: undefined, output_config: { effort: 'low' } },
      [],
    ],
    [
      'a model that does not think',
      { reasoning: { effort: 'low' } },
      { reasoning: 'None' },
      { thinking: undefined, output_config: undefined },
      ['reasoning_effort'],
    ],
  ])('%s', (_, fields, features, expected, lost) => {
    const { body, losses } = encode(fields, features)
    for (const [key, value] of Object.entries(expected)) expect(body[key]).toEqual(value)
    expect(losses).toEqual(lost)
  })

  test.each<[string, Partial<ModelRequest>, object, string[]]>([
    [
      'low',
      { reasoning: { effort: 'low' } },
      { max_tokens: 9216, thinking: { type: 'enabled', budget_tokens: 1024 } },
      [],
    ],
    [
      'max',
      { reasoning: { effort: 'max' } },
      { max_tokens: 24_576, thinking: { type: 'enabled', budget_tokens: 16_384 } },
      [],
    ],
    ['none', { reasoning: { effort: 'none' } }, { max_tokens: 8192, thinking: { type: 'disabled' } }, []],
    [
      'a limit that has room',
      { maxOutputTokens: 5000, reasoning: { effort: 'high' } },
      { max_tokens: 5000, thinking: { type: 'enabled', budget_tokens: 4096 } },
      [],
    ],
    [
      'a limit that stays, and the budget gives way',
      { maxOutputTokens: 4096, reasoning: { effort: 'high' } },
      { max_tokens: 4096, thinking: { type: 'enabled', budget_tokens: 2048 } },
      ['reasoning_effort'],
    ],
    [
      'a limit just above the least budget',
      { maxOutputTokens: 1025, reasoning: { effort: 'high' } },
      { max_tokens: 1025, thinking: { type: 'enabled', budget_tokens: 1024 } },
      ['reasoning_effort'],
    ],
    [
      'a limit without room',
      { maxOutputTokens: 1024, reasoning: { effort: 'low' } },
      { max_tokens: 1024, thinking: undefined },
      ['reasoning_effort'],
    ],
    [
      'the one temperature beside it',
      { temperature: 1, reasoning: { effort: 'low' } },
      { temperature: 1 },
      [],
    ],
    [
      'no other temperature beside it',
      { temperature: 0.5, reasoning: { effort: 'low' } },
      { temperature: undefined },
      ['temperature'],
    ],
  ])('by a budget: %s', (_, fields, expected, lost) => {
    const { body, losses } = encode(fields, {}, BUDGET)
    for (const [key, value] of Object.entries(expected)) expect(body[key]).toEqual(value)
    expect(losses).toEqual(lost)
  })

  test('a budget is not given where the last calls lost their thinking', () => {
    const turns = (...before: AssistantPart[]) => [
      text('Q'),
      assistant(...before, call('c')),
      result('c', 'R'),
    ]
    const without = encode({ turns: turns(), reasoning: { effort: 'low' } }, {}, BUDGET)
    expect(without.body.thinking).toBeUndefined()
    expect(without.losses).toEqual(['reasoning_effort'])
    const carrier = { dialect: 'messages', kind: 'signature', value: 'S' } as const
    const withIt = encode(
      { turns: turns({ type: 'reasoning', texts: [], carrier }), reasoning: { effort: 'low' } },
      {},
      BUDGET,
    )
    expect(withIt.body.thinking).toEqual({ type: 'enabled', budget_tokens: 1024 })
  })

  test('only what this vendor signed goes back to it', () => {
    const { body, losses } = encode({
      turns: [
        text('Q'),
        assistant(
          {
            type: 'reasoning',
            texts: ['a', 'b'],
            carrier: { dialect: 'messages', kind: 'signature', value: 'S' },
          },
          { type: 'reasoning', texts: [], carrier: { dialect: 'messages', kind: 'redacted', value: 'R' } },
          {
            type: 'reasoning',
            texts: ['c'],
            carrier: { dialect: 'responses', kind: 'encrypted', value: 'E' },
          },
          { type: 'reasoning', texts: ['d'], lostCarrier: true },
          { type: 'text', text: 'X' },
        ),
        text('Q2'),
      ],
    })
    expect(body.messages).toMatchObject([
      {},
      {
        role: 'assistant',
        content: [
          { type: 'thinking', thinking: 'a\n\nb', signature: 'S' },
          { type: 'redacted_thinking', data: 'R' },
          block('X'),
        ],
      },
      {},
    ])
    expect(losses).toEqual(['messages.reasoning_details'])
  })
})

describe('the order of messages', () => {
  const messages = (turns: Turn[], features: Partial<Features> = {}) => {
    const { body, losses } = encode({ turns }, features)
    return { system: body.system, messages: body.messages, losses }
  }

  test('leading system turns are the prompt, whatever they were', () => {
    expect(messages([system('A', 'top'), system(''), system('B'), text('Q')])).toEqual({
      system: [block('A'), block('B')],
      messages: [{ role: 'user', content: [block('Q')] }],
      losses: [],
    })
  })

  test('text of white space alone is none', () => {
    const said = assistant({ type: 'text', text: '\n\n' }, call('1'))
    const result: Turn = { role: 'tool', results: [{ callId: '1', parts: [{ type: 'text', text: ' ' }] }] }
    expect(messages([system(' ', 'top'), text('Q'), text('\t'), said, result])).toEqual({
      system: undefined,
      messages: [
        { role: 'user', content: [block('Q')] },
        { role: 'assistant', content: [{ type: 'tool_use', id: '1', name: 't', input: {} }] },
        { role: 'user', content: [{ type: 'tool_result', tool_use_id: '1', content: ' ' }] },
      ],
      losses: [],
    })
  })

  test.each([[[]], [[{ type: 'text' as const, text: ' ' }]]])('a user who says nothing: %j', (parts) => {
    const turns = [text('Q'), assistant({ type: 'text', text: 'A' }), user(...parts)]
    const expected = [
      { role: 'user', content: [block('Q')] },
      { role: 'assistant', content: [block('A')] },
      { role: 'user', content: [block('.')] },
    ]
    expect(messages(turns, { prefill: true }).messages).toEqual(expected)
  })

  test('later ones stay in place where the model takes them', () => {
    const turns = [text('Q'), assistant({ type: 'text', text: 'X' }), text('Q2'), system('S')]
    expect(messages(turns, { systemTurns: true })).toMatchObject({
      messages: [{}, {}, { role: 'user' }, { role: 'system', content: [block('S')] }],
      losses: [],
    })
  })

  test('and are marked user text elsewhere', () => {
    expect(messages([text('Q'), system('S'), text('Q2')], { systemTurns: false })).toEqual({
      system: undefined,
      messages: [{ role: 'user', content: [block('Q'), block('<system>\nS\n</system>'), block('Q2')] }],
      losses: ['messages'],
    })
  })

  test('turns of one role are one message, results first', () => {
    const turns = [
      text('A'),
      text(''),
      text('B'),
      assistant(call('c')),
      result('c', 'R'),
      result('d', ''),
      text('C'),
    ]
    expect(messages(turns).messages).toEqual([
      { role: 'user', content: [block('A'), block('B')] },
      { role: 'assistant', content: [{ type: 'tool_use', id: 'c', name: 't', input: {} }] },
      {
        role: 'user',
        content: [
          { type: 'tool_result', tool_use_id: 'c', content: 'R' },
          { type: 'tool_result', tool_use_id: 'd' },
          block('C'),
        ],
      },
    ])
  })

  test('results come first, even if the user said something before them', () => {
    const turns = [text('A'), assistant(call('c')), text('B'), result('c', 'R')]
    expect(messages(turns).messages).toMatchObject([
      {},
      {},
      { content: [{ type: 'tool_result', tool_use_id: 'c' }, block('B')] },
    ])
  })

  test('the first message is a user’s', () => {
    expect(messages([assistant({ type: 'text', text: 'X' }), text('Q')]).messages).toEqual([
      { role: 'user', content: '.' },
      { role: 'assistant', content: [block('X')] },
      { role: 'user', content: [block('Q')] },
    ])
    expect(messages([system('S')]).messages).toEqual([{ role: 'user', content: '.' }])
  })

  test.each([
    ['goes on', true, 'X \n', [block('X')], []],
    ['says nothing', true, ' \n', undefined, []],
    ['is not taken', false, 'X', undefined, ['messages']],
  ])('a last assistant message that %s', (_, prefill, words, content, lost) => {
    const found = messages([text('Q'), assistant({ type: 'text', text: words })], { prefill })
    const last = content === undefined ? [] : [{ role: 'assistant', content }]
    expect(found.messages).toEqual([{ role: 'user', content: [block('Q')] }, ...last])
    expect(found.losses).toEqual(lost)
  })

  test('a call without its result cannot be the last', () => {
    expect(messages([text('Q'), assistant(call('c'))], { prefill: true }).messages).toHaveLength(1)
  })

  test('results with images are blocks, and errors are marked', () => {
    const image = { type: 'image', source: { kind: 'url', url: 'https://x/y.png' } } as const
    const results = [{ callId: 'c', parts: [{ type: 'text', text: 'R' } as const, image], isError: true }]
    expect(messages([text('Q'), assistant(call('c', '')), { role: 'tool', results }]).messages).toMatchObject(
      [
        {},
        { content: [{ input: {} }] },
        {
          content: [
            {
              type: 'tool_result',
              tool_use_id: 'c',
              content: [block('R'), { type: 'image', source: { type: 'url', url: 'https://x/y.png' } }],
              is_error: true,
            },
          ],
        },
      ],
    )
  })
})

describe('content', () => {
  const content = (...parts: UserPart[]) => {
    const { body, losses } = encode({ turns: [user(...parts)] })
    const [message] = Array.isArray(body.messages) ? body.messages : []
    return { blocks: message.content, losses }
  }
  const PNG_BYTES = 'iVBORw0KGgoAAAAA'

  test('images are what their bytes say', () => {
    const { blocks } = content(
      { type: 'image', source: { kind: 'data', mediaType: 'image/jpeg', base64: PNG_BYTES } },
      { type: 'image', source: { kind: 'data', mediaType: 'image/jpg', base64: 'AAAA' }, detail: 'auto' },
    )
    expect(blocks).toMatchObject([
      { source: { media_type: 'image/png' } },
      { source: { media_type: 'image/jpeg' } },
    ])
  })

  test('files are documents, with their names as titles', () => {
    const base64 = Buffer.from('héllo').toString('base64')
    const { blocks, losses } = content(
      { type: 'file', source: { kind: 'data', mediaType: 'application/pdf', base64: 'AAAA' }, name: 'a.pdf' },
      { type: 'file', source: { kind: 'data', mediaType: 'text/plain', base64 }, name: 'a.txt' },
      { type: 'file', source: { kind: 'url', url: 'https://x/y.pdf' } },
    )
    expect(blocks).toEqual([
      {
        type: 'document',
        source: { type: 'base64', media_type: 'application/pdf', data: 'AAAA' },
        title: 'a.pdf',
      },
      { type: 'document', source: { type: 'text', media_type: 'text/plain', data: 'héllo' }, title: 'a.txt' },
      { type: 'document', source: { type: 'url', url: 'https://x/y.pdf' } },
    ])
    expect(losses).toEqual([])
  })

  test('text of another type is plain text, and that is told', () => {
    const { blocks, losses } = content({
      type: 'file',
      source: { kind: 'data', mediaType: 'text/csv', base64: 'YSxi' },
    })
    expect(blocks).toEqual([
      { type: 'document', source: { type: 'text', media_type: 'text/plain', data: 'a,b' } },
    ])
    expect(losses).toEqual(['messages.content.file'])
  })

  test('what a model cannot have said is dropped, and a refusal is text', () => {
    const { body, losses } = encode({
      turns: [
        text('Q'),
        assistant(
          { type: 'refusal', text: 'No.' },
          { type: 'image', source: { kind: 'url', url: 'u' } },
          { type: 'hosted', dialect: 'responses', name: 'web_search_call', item: {} },
        ),
        text('Q2'),
      ],
    })
    expect(body.messages).toMatchObject([{}, { content: [block('No.')] }, {}])
    expect(losses).toEqual(['hosted', 'messages.content.image_url', 'messages.refusal'])
  })
})

describe('cache marks', () => {
  const marked = (ttl?: '5m' | '30m' | '12h') =>
    user({ type: 'text', text: 'x', cache: ttl === undefined ? {} : { ttl } })
  const controls = (turns: Turn[], features: Partial<Features> = {}) => {
    const { body, losses } = encode({ turns }, features)
    const [message] = Array.isArray(body.messages) ? body.messages : []
    return { marks: message.content.map((b: { cache_control?: unknown }) => b.cache_control), losses }
  }

  test('get the nearest lifetime', () => {
    expect(controls([marked(), marked('30m'), marked('12h')])).toEqual({
      marks: [{ type: 'ephemeral' }, { type: 'ephemeral', ttl: '5m' }, { type: 'ephemeral', ttl: '1h' }],
      losses: ['messages.content.prompt_cache_breakpoint'],
    })
  })

  test('are at most four, the last ones', () => {
    const { marks, losses } = controls([marked(), marked(), marked(), marked(), marked()])
    expect(marks).toEqual([undefined, ...Array(4).fill({ type: 'ephemeral' })])
    expect(losses).toEqual(['messages.content.prompt_cache_breakpoint'])
    expect(controls([marked(), marked(), marked(), marked()]).losses).toEqual([])
  })

  test('are dropped where they are not taken', () => {
    expect(controls([marked()], { cacheMarks: false })).toEqual({
      marks: [undefined],
      losses: ['messages.content.prompt_cache_breakpoint'],
    })
  })
})

describe('tools', () => {
  test('schemas are those of objects', () => {
    const { body } = encode({
      tools: [
        { type: 'function', name: 'a' },
        { type: 'function', name: 'b', parameters: { properties: {} }, strict: true },
        { type: 'function', name: 'c', parameters: PARAMETERS, strict: false },
      ],
    })
    expect(body.tools).toEqual([
      { name: 'a', input_schema: { type: 'object', properties: {} } },
      { name: 'b', input_schema: { type: 'object', properties: {} }, strict: true },
      { name: 'c', input_schema: PARAMETERS },
    ])
  })

  test('strictness is dropped where nothing is held to a schema', () => {
    const { body, losses } = encode(
      { tools: [{ type: 'function', name: 'a', strict: true }] },
      { structuredOutput: false },
    )
    expect(body.tools).toEqual([{ name: 'a', input_schema: { type: 'object', properties: {} } }])
    expect(losses).toEqual(['tools.function.strict'])
  })

  test('web search in the words of this vendor', () => {
    const tools: Tool[] = [{ type: 'web-search', allowedDomains: ['a.b'], userLocation: { city: 'Rome' } }]
    expect(encode({ tools, toolChoice: { type: 'web-search' } }).body).toMatchObject({
      tools: [
        {
          type: 'web_search_20250305',
          name: 'web_search',
          allowed_domains: ['a.b'],
          user_location: { type: 'approximate', city: 'Rome' },
        },
      ],
      tool_choice: { type: 'tool', name: 'web_search' },
    })
  })

  test.each<[Partial<ModelRequest>, object | undefined]>([
    [{ toolChoice: { type: 'auto' } }, { type: 'auto' }],
    [{ toolChoice: { type: 'none' }, parallelToolCalls: false }, { type: 'none' }],
    [{ toolChoice: { type: 'tool', kind: 'function', name: 'a' } }, { type: 'tool', name: 'a' }],
    [{ parallelToolCalls: false }, { type: 'auto', disable_parallel_tool_use: true }],
    [{ parallelToolCalls: true }, undefined],
  ])('%j', (fields, choice) => {
    expect(encode({ ...fields, tools: [{ type: 'function', name: 'a' }] }).body.tool_choice).toEqual(choice)
  })

  const forced: ToolChoice = { type: 'tool', kind: 'function', name: 't' }
  const spoke: Turn[] = [text('Q'), assistant(call('1')), text('R')]
  test.each<[string, Partial<ModelRequest>, Partial<Features>, string, string[]]>([
    ['a budget', { reasoning: { effort: 'high' } }, { reasoning: 'Budget' }, 'auto', ['tool_choice']],
    ['none', { reasoning: { effort: 'none' } }, { reasoning: 'Budget' }, 'tool', []],
    ['none asked for', {}, { reasoning: 'Budget' }, 'tool', []],
    [
      'a budget that the history forbids',
      { reasoning: { effort: 'high' }, turns: spoke },
      { reasoning: 'Budget' },
      'tool',
      ['reasoning_effort'],
    ],
    [
      'a budget that the limit forbids',
      { reasoning: { effort: 'high' }, maxOutputTokens: 500 },
      { reasoning: 'Budget' },
      'tool',
      ['reasoning_effort'],
    ],
    ['an effort', { reasoning: { effort: 'high' } }, { reasoning: 'Adaptive' }, 'tool', []],
  ])('a forced call beside thinking by %s', (_, fields, features, type, lost) => {
    const tools: Tool[] = [{ type: 'function', name: 't' }]
    const { body, losses } = encode({ tools, toolChoice: forced, ...fields }, features)
    expect(body.tool_choice).toMatchObject({ type })
    expect(losses).toEqual(lost)
  })

  test('no choice without tools', () => {
    const { body } = encode({ toolChoice: { type: 'auto' }, parallelToolCalls: false })
    expect(body).not.toHaveProperty('tool_choice')
    expect(body).not.toHaveProperty('tools')
  })
})

describe('structured output', () => {
  test('without support the schema is asked for in words', () => {
    const { body, losses } = encode(
      { format: { type: 'schema', schema: SCHEMA } },
      { structuredOutput: false },
    )
    expect(body.output_config).toBeUndefined()
    expect(JSON.stringify(body.system)).toContain(JSON.stringify(JSON.stringify(SCHEMA)).slice(1, -1))
    expect(losses).toEqual(['response_format'])
  })

  test('a schema that must change is told', () => {
    const { body, losses } = encode({
      format: { type: 'schema', description: 'd', schema: { type: 'object' } },
    })
    expect(body.output_config).toEqual({
      format: { type: 'json_schema', schema: { type: 'object', additionalProperties: false } },
    })
    expect(losses).toEqual(['response_format.json_schema.description', 'response_format.json_schema.schema'])
  })
})
