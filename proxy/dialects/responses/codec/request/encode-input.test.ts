import { describe, expect, test } from 'vitest'
import type { AssistantPart, Turn, UserPart } from '../../../core/neutral/types.ts'
import { assistant, CALL, CALL_ITEM, encode, input, type Options, USER, USER_ITEM } from './testing.ts'

describe('system text', () => {
  const top: Turn = {
    role: 'system',
    placement: 'top',
    parts: [
      { type: 'text', text: 'A' },
      { type: 'text', text: 'B', cache: {} },
    ],
  }

  test('at the top becomes instructions', () => {
    const { body, losses } = encode({ turns: [top, USER] }, { source: 'messages' })
    expect(body).toMatchObject({ instructions: 'A\n\nB', input: [USER_ITEM] })
    expect(losses).toEqual(['messages.content.cache_control'])
  })

  test('with cache marks that the upstream supports is a message', () => {
    const { body, losses } = encode({ turns: [top, USER] }, { features: { cacheMarks: true } })
    const marked = { type: 'input_text', text: 'B', prompt_cache_breakpoint: { mode: 'explicit' } }
    const content = [{ type: 'input_text', text: 'A' }, marked]
    expect(body.input).toEqual([{ type: 'message', role: 'system', content }, USER_ITEM])
    expect(body).not.toHaveProperty('instructions')
    expect(losses).toEqual([])
  })

  test('in the middle stays there, with the role developer if the upstream has it', () => {
    const middle: Turn = { role: 'system', placement: 'message', parts: [{ type: 'text', text: 'S' }] }
    const item = { type: 'message', role: 'developer', content: [{ type: 'input_text', text: 'S' }] }
    expect(input([USER, middle], { features: { developerRole: true } })).toEqual([USER_ITEM, item])
  })
})

describe('reasoning', () => {
  const own: AssistantPart = {
    type: 'reasoning',
    texts: [],
    carrier: { dialect: 'responses', kind: 'encrypted', value: 'E' },
  }
  const claude: AssistantPart = {
    type: 'reasoning',
    texts: ['T'],
    carrier: { dialect: 'messages', kind: 'signature', value: 'S' },
  }
  const OWN_ITEM = { type: 'reasoning', summary: [], encrypted_content: 'E' }
  const REASONING_LOSS = ['messages.reasoning_details']

  test.each<[string, AssistantPart[], object[], string[]]>([
    ['is sent before a call', [own, CALL], [OWN_ITEM, CALL_ITEM], []],
    [
      'of another vendor is not sent',
      [claude, CALL],
      [CALL_ITEM],
      ['messages.reasoning_content', ...REASONING_LOSS],
    ],
    ['is never sent last', [CALL, own], [CALL_ITEM], REASONING_LOSS],
    [
      'with a forged envelope is a loss',
      [{ type: 'reasoning', texts: [], lostCarrier: true }, CALL],
      [CALL_ITEM],
      REASONING_LOSS,
    ],
    ['without text is not a loss', [{ type: 'reasoning', texts: [''] }, CALL], [CALL_ITEM], []],
    [
      'of a chain of thought is content',
      [{ ...own, texts: ['raw'], raw: true }, CALL],
      [{ ...OWN_ITEM, content: [{ type: 'reasoning_text', text: 'raw' }] }, CALL_ITEM],
      [],
    ],
  ])('%s', (_name, parts, items, expected) => {
    const { body, losses } = encode({ turns: [USER, assistant(...parts)] })
    expect(body.input).toEqual([USER_ITEM, ...items])
    expect(losses).toEqual(expected)
  })
})

test('a model without reasoning gets none', () => {
  const carrier = { dialect: 'responses', kind: 'encrypted', value: 'E' } as const
  const turns = [assistant({ type: 'reasoning', texts: [], carrier }, CALL)]
  const { body, losses } = encode({ turns }, { features: { reasoning: 'None' } })
  expect(body.input).toEqual([CALL_ITEM])
  expect(losses).toEqual(['messages.reasoning_details'])
})

describe('an assistant', () => {
  test('refuses, calls with free text or without arguments', () => {
    const custom: AssistantPart = {
      type: 'tool-call',
      callId: 'd',
      name: 'g',
      namespace: 'n',
      kind: 'custom',
      input: 'free',
    }
    const turn = assistant({ type: 'refusal', text: 'No.' }, { ...CALL, input: '' }, custom)
    const results: Turn = { role: 'tool', results: [{ callId: 'd', parts: [] }] }
    expect(input([turn, results])).toEqual([
      { type: 'message', role: 'assistant', content: [{ type: 'refusal', refusal: 'No.' }] },
      CALL_ITEM,
      { type: 'custom_tool_call', call_id: 'd', name: 'g', namespace: 'n', input: 'free' },
      { type: 'custom_tool_call_output', call_id: 'd', output: '' },
    ])
  })

  test('shows an image through the user', () => {
    const image: AssistantPart = { type: 'image', source: { kind: 'url', url: 'https://x' } }
    const content = [{ type: 'input_image', image_url: 'https://x', detail: 'auto' }]
    expect(input([assistant(image, { type: 'text', text: 'a' })])).toEqual([
      { type: 'message', role: 'assistant', content: 'a' },
      { type: 'message', role: 'user', content },
    ])
  })

  test('loses annotations, hosted items and vendor state of calls', () => {
    const { losses } = encode({
      turns: [
        assistant(
          { type: 'text', text: 'a', annotations: [{ type: 'url', url: 'https://x' }] },
          { type: 'hosted', dialect: 'messages', name: 'server_tool_use', item: {} },
          { ...CALL, carrier: { dialect: 'chat', kind: 'extra_content', value: '{}' } },
        ),
      ],
    })
    expect(losses.toSorted()).toEqual(['hosted', 'messages.annotations', 'messages.tool_calls.extra_content'])
  })
})

describe('results', () => {
  const output = (parts: UserPart[], fields: object = {}, options: Options = {}) => {
    const results = [{ callId: 'c', parts: parts.filter((part) => part.type !== 'audio'), ...fields }]
    const { body, losses } = encode({ turns: [assistant(CALL), { role: 'tool', results }] }, options)
    return { items: body.input, losses }
  }
  const item = (value: unknown) => [CALL_ITEM, { type: 'function_call_output', call_id: 'c', output: value }]

  test('with an image are a list', () => {
    const image: UserPart = { type: 'image', source: { kind: 'url', url: 'https://x' }, detail: 'low' }
    expect(output([{ type: 'text', text: 'a' }, image]).items).toEqual(
      item([
        { type: 'input_text', text: 'a' },
        { type: 'input_image', image_url: 'https://x', detail: 'low' },
      ]),
    )
  })

  test.each([
    ['bad', 'Error: bad'],
    ['Error: bad', 'Error: bad'],
  ])('that are errors are marked once: %s', (text, expected) => {
    const { items, losses } = output([{ type: 'text', text }], { isError: true }, { source: 'messages' })
    expect(items).toEqual(item(expected))
    expect(losses).toEqual(['messages.content.is_error'])
  })

  test('keep their cache mark on the last part', () => {
    const { items, losses } = output(
      [{ type: 'text', text: 'a' }],
      { cache: { ttl: '1h' } },
      {
        features: { cacheMarks: true },
      },
    )
    const mark = { mode: 'explicit', ttl: '12h' }
    expect(items).toEqual(item([{ type: 'input_text', text: 'a', prompt_cache_breakpoint: mark }]))
    // Its lifetime is longer than the client requested.
    expect(losses).toEqual(['messages.content.prompt_cache_breakpoint.ttl'])
  })
})

describe('media', () => {
  const parts = (...list: UserPart[]) =>
    encode({ turns: [{ role: 'user', parts: list }] }, { source: 'messages' })

  test('files have a name', () => {
    const pdf: UserPart = {
      type: 'file',
      source: { kind: 'data', mediaType: 'application/pdf', base64: 'AA==' },
    }
    const text: UserPart = {
      type: 'file',
      name: 'n.txt',
      source: { kind: 'text', mediaType: 'text/plain', text: 'a' },
    }
    const url: UserPart = { type: 'file', source: { kind: 'url', url: 'https://x/y.pdf' } }
    const content = [
      { type: 'input_file', filename: 'document.pdf', file_data: 'data:application/pdf;base64,AA==' },
      { type: 'input_file', filename: 'n.txt', file_data: 'data:text/plain;base64,YQ==' },
      { type: 'input_file', file_url: 'https://x/y.pdf' },
    ]
    expect(parts(pdf, text, url).body.input).toEqual([{ type: 'message', role: 'user', content }])
  })

  test.each<[string, UserPart]>([
    ['messages.content.source', { type: 'file', source: { kind: 'id', id: 'f', vendor: 'anthropic' } }],
    ['messages.content.source', { type: 'image', source: { kind: 'id', id: 'f', vendor: 'anthropic' } }],
    ['audio', { type: 'audio', base64: 'AAAA', format: 'wav' }],
  ])('without an equivalent are refused: %s', (param, part) => {
    expect(() => parts(part)).toThrow(expect.objectContaining({ code: 'unsupported_parameter', param }))
  })
})
