/** Faults of converted conversations that other gateways are known for; the numbers are those of the list of pitfalls. */
import { describe, expect, it } from 'vitest'
import { convert, type DialectName, decodeRequest, encodeRequest, minimalRequest } from './codecs.ts'

type Json = Record<string, unknown>

const TOOL = { type: 'function', function: { name: 'f', parameters: { type: 'object', properties: {} } } }
const asCall = (id: string, args = '{}') => ({
  id,
  type: 'function',
  function: { name: 'f', arguments: args },
})
const chat = (messages: object[], more: object = {}) => ({ model: 'm', messages, tools: [TOOL], ...more })
const user = (content: unknown) => ({ role: 'user', content })
const assistant = (...calls: object[]) => ({ role: 'assistant', content: null, tool_calls: calls })
const tool = (id: string, content: string) => ({ role: 'tool', tool_call_id: id, content })

/** The messages that a messages upstream gets of a chat request. */
const toMessages = (messages: object[]): { role: string; content: Json[] }[] => {
  const { body } = convert('chat', chat(messages), 'messages')
  return (body.messages as { role: string; content: unknown }[]).map(({ role, content }) => ({
    role,
    content: typeof content === 'string' ? [{ type: 'text', text: content }] : (content as Json[]),
  }))
}

describe('7.10 content beside calls', () => {
  it('is null, or "" for upstreams that refuse null', () => {
    const body = {
      model: 'm',
      input: [
        { role: 'user', content: 'a' },
        { type: 'function_call', call_id: 'c1', name: 'f', arguments: '' },
        { type: 'function_call_output', call_id: 'c1', output: '' },
      ],
      tools: [{ type: 'function', name: 'f', parameters: {}, strict: false }],
    }
    const message = (features: object) => {
      const { body: converted } = convert('responses', body, 'chat', features)
      return (converted.messages as Json[])[1]
    }
    expect(message({ nullContent: true })).toMatchObject({ content: null })
    expect(message({ nullContent: false })).toMatchObject({ content: '' })
    const input = convert('responses', body, 'messages').body.messages as { content: Json[] }[]
    expect(input[1]?.content).toEqual([{ type: 'tool_use', id: 'c1', name: 'f', input: {} }])
  })
})

describe('7.15 text', () => {
  it('lone surrogates become U+FFFD', () => {
    const lone = 'a\ud83d b'
    for (const target of ['responses', 'messages'] as const) {
      expect(
        JSON.stringify(convert('chat', minimalRequest('chat', { messages: [user(lone)] }), target).body),
      ).toContain('a\ufffd b')
    }
  })

  it('arguments stay unchanged', () => {
    const raw = '{"id":12345678901234567890,"b":1,"a":2}'
    const { body } = convert(
      'chat',
      chat([user('a'), assistant(asCall('c1', raw)), tool('c1', 'r')]),
      'responses',
    )
    expect(body.input).toContainEqual(expect.objectContaining({ arguments: raw }))
  })

  it('keys of arguments keep their order', () => {
    const raw = '{"zebra":1,"apple":{"y":1,"x":2}}'
    const [, turn] = toMessages([user('a'), assistant(asCall('c1', raw)), tool('c1', 'r')])
    expect(JSON.stringify(turn?.content[0]?.input)).toBe(raw)
  })
})

describe('7.16 history', () => {
  const roles = (messages: object[]) => toMessages(messages).map(({ role }) => role)
  const types = (messages: object[]) =>
    toMessages(messages).map(({ role, content }) => `${role}: ${content.map(({ type }) => type).join(' ')}`)

  it('adjacent messages of one role become one', () => {
    expect(
      roles([
        user('a'),
        user('b'),
        { role: 'assistant', content: 'c' },
        { role: 'assistant', content: 'd' },
        user('e'),
      ]),
    ).toEqual(['user', 'assistant', 'user'])
  })

  it('that begins with the assistant gets a user message before it', () => {
    expect(roles([{ role: 'assistant', content: 'a' }, user('b')])).toEqual(['user', 'assistant', 'user'])
  })

  it('has no empty text', () => {
    const text = JSON.stringify(
      toMessages([user(''), user('a'), { role: 'assistant', content: '' }, user('b')]),
    )
    expect(text).not.toContain('"text":""')
  })

  it('of empty messages stays a conversation', () => {
    const nothing = { messages: [user('')] }
    const first = (target: DialectName, list: string) =>
      convert('messages', minimalRequest('messages', nothing), target).body[list]
    expect(first('chat', 'messages')).toEqual([{ role: 'user', content: '' }])
    expect(first('responses', 'input')).toEqual([{ type: 'message', role: 'user', content: '' }])
    expect(toMessages([user('')])).toEqual([{ role: 'user', content: [{ type: 'text', text: '.' }] }])
  })

  it('has results directly after their calls, in the order of the calls, before text', () => {
    const messages = [
      user('a'),
      assistant(asCall('c1'), asCall('c2')),
      user('wait'),
      tool('c2', 'second'),
      tool('c1', 'first'),
    ]
    const [, , results] = toMessages(messages)
    expect(results?.content.map(({ type, tool_use_id }) => tool_use_id ?? type)).toEqual(['c1', 'c2', 'text'])
  })

  it('answers every call, and no missing call', () => {
    const messages = [
      user('a'),
      assistant(asCall('c1'), asCall('c2')),
      tool('c1', 'r'),
      tool('ghost', 'x'),
      user('b'),
    ]
    const [, , results] = toMessages(messages)
    const ids = results?.content
      .filter(({ type }) => type === 'tool_result')
      .map(({ tool_use_id }) => tool_use_id)
    expect(ids).toEqual(['c1', 'c2'])
    expect(JSON.stringify(results)).not.toContain('ghost')
  })

  it('has one result for a call, the last one', () => {
    const [, , results] = toMessages([
      user('a'),
      assistant(asCall('c1')),
      tool('c1', 'old'),
      tool('c1', 'new'),
    ])
    expect(results?.content).toHaveLength(1)
    expect(JSON.stringify(results)).toContain('new')
  })

  it('uses each call id once', () => {
    const round = [assistant(asCall('c1')), tool('c1', 'r')]
    const text = JSON.stringify(toMessages([user('a'), ...round, user('b'), ...round]))
    const ids = [...text.matchAll(/"type":"tool_use","id":"([^"]+)"/g)].map(([, id]) => id)
    expect(ids).toHaveLength(2)
    expect(new Set(ids).size).toBe(2)
    for (const id of ids) expect(text).toContain(`"tool_use_id":"${id}"`)
  })

  it('ends with a user message for models without prefill', () => {
    const messages = [user('a'), { role: 'assistant', content: 'An old silent' }]
    const { body, losses } = convert('chat', chat(messages), 'messages', { prefill: false })
    expect(body.messages).toHaveLength(1)
    expect(losses).toEqual(['messages'])
  })

  it('keeps system texts in the middle, marked for models that refuse them', () => {
    const messages = [
      user('a'),
      { role: 'assistant', content: 'b' },
      { role: 'system', content: 'S' },
      user('c'),
    ]
    const native = convert('chat', chat(messages), 'messages', { systemTurns: true })
    expect((native.body.messages as Json[]).map(({ role }) => role)).toContain('system')
    const folded = convert('chat', chat(messages), 'messages', { systemTurns: false })
    expect(JSON.stringify(folded.body.messages)).toContain('<system>')
    expect(folded.losses).toEqual(['messages'])
    expect(types(messages)).toHaveLength(4)
  })
})

describe('7.17 thinking in history', () => {
  const turn = (...content: object[]) => ({
    model: 'm',
    max_tokens: 100,
    tools: [{ name: 'f', input_schema: { type: 'object' } }],
    messages: [
      user('a'),
      { role: 'assistant', content },
      user([{ type: 'tool_result', tool_use_id: 'c1', content: 'r' }]),
    ],
  })

  it('stays in its place, block by block', () => {
    const content = [
      { type: 'thinking', thinking: 'T1', signature: 's1' },
      { type: 'redacted_thinking', data: 'd' },
      { type: 'text', text: 'x' },
      { type: 'thinking', thinking: '', signature: 's2' },
      { type: 'tool_use', id: 'c1', name: 'f', input: {} },
    ]
    const { body } = encodeRequest(decodeRequest('messages', turn(...content)), 'messages')
    expect((body.messages as { content: Json[] }[])[1]?.content).toEqual(content)
  })
})

it('7.18 calls of one turn are one assistant message with its text and thoughts', () => {
  const item = (call_id: string) => ({ type: 'function_call', call_id, name: 'f', arguments: '{}' })
  const output = (call_id: string) => ({ type: 'function_call_output', call_id, output: 'r' })
  const body = {
    model: 'm',
    tools: [{ type: 'function', name: 'f', parameters: {}, strict: false }],
    input: [
      { role: 'user', content: 'a' },
      { type: 'reasoning', id: 'rs_1', summary: [{ type: 'summary_text', text: 'T' }] },
      { type: 'message', role: 'assistant', content: 'b' },
      item('c1'),
      item('c2'),
      output('c1'),
      output('c2'),
    ],
  }
  const messages = convert('responses', body, 'chat').body.messages as Json[]
  expect(messages.map(({ role }) => role)).toEqual(['user', 'assistant', 'tool', 'tool'])
  expect(messages[1]).toMatchObject({
    content: 'b',
    reasoning_content: 'T',
    tool_calls: [{ id: 'c1' }, { id: 'c2' }],
  })
})

describe('7.19 items of another vendor', () => {
  it('have no ids for a responses upstream', () => {
    const messages = [user('a'), assistant(asCall('toolu_1')), tool('toolu_1', 'r')]
    const { body } = convert('chat', chat(messages), 'responses')
    for (const item of body.input as Json[]) expect(item).not.toHaveProperty('id')
  })

  it('are not reasoning items without an item after them', () => {
    const messages = {
      model: 'm',
      max_tokens: 10,
      messages: [
        user('a'),
        { role: 'assistant', content: [{ type: 'thinking', thinking: 'T', signature: 'foreign' }] },
        user('b'),
      ],
    }
    expect(JSON.stringify(convert('messages', messages, 'responses').body)).not.toContain('"reasoning","')
    expect(JSON.stringify(convert('messages', messages, 'responses').body)).not.toContain('foreign')
  })
})
