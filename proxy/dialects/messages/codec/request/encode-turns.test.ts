import { describe, expect, test } from 'vitest'
import type { Features } from '../../../../../contract/features.ts'
import type { Turn } from '../../../core/neutral/types.ts'
import { assistant, block, call, encode, result, system, text, user } from './encode-testing.ts'

describe('the order of messages', () => {
  const messages = (turns: Turn[], features: Partial<Features> = {}) => {
    const { body, losses } = encode({ turns }, features)
    return { system: body.system, messages: body.messages, losses }
  }

  test('leading system turns become the system prompt, whatever their form', () => {
    expect(messages([system('A', 'top'), system(''), system('B'), text('Q')])).toEqual({
      system: [block('A'), block('B')],
      messages: [{ role: 'user', content: [block('Q')] }],
      losses: [],
    })
  })

  test('text of white space alone is left out', () => {
    const answer = assistant({ type: 'text', text: '\n\n' }, call('1'))
    const result: Turn = { role: 'tool', results: [{ callId: '1', parts: [{ type: 'text', text: ' ' }] }] }
    expect(messages([system(' ', 'top'), text('Q'), text('\t'), answer, result])).toEqual({
      system: undefined,
      messages: [
        { role: 'user', content: [block('Q')] },
        { role: 'assistant', content: [{ type: 'tool_use', id: '1', name: 't', input: {} }] },
        { role: 'user', content: [{ type: 'tool_result', tool_use_id: '1', content: ' ' }] },
      ],
      losses: [],
    })
  })

  test.each([[[]], [[{ type: 'text' as const, text: ' ' }]]])('an empty user turn: %j', (parts) => {
    const turns = [text('Q'), assistant({ type: 'text', text: 'A' }), user(...parts)]
    const expected = [
      { role: 'user', content: [block('Q')] },
      { role: 'assistant', content: [block('A')] },
      { role: 'user', content: [block('.')] },
    ]
    expect(messages(turns, { prefill: true }).messages).toEqual(expected)
  })

  test('later system turns stay in place if the model supports that', () => {
    const turns = [text('Q'), assistant({ type: 'text', text: 'X' }), text('Q2'), system('S')]
    expect(messages(turns, { systemTurns: true })).toMatchObject({
      messages: [{}, {}, { role: 'user' }, { role: 'system', content: [block('S')] }],
      losses: [],
    })
  })

  test('later system turns become marked user text otherwise', () => {
    expect(messages([text('Q'), system('S'), text('Q2')], { systemTurns: false })).toEqual({
      system: undefined,
      messages: [{ role: 'user', content: [block('Q'), block('<system>\nS\n</system>'), block('Q2')] }],
      losses: ['messages'],
    })
  })

  test('adjacent turns of one role become one message, results first', () => {
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

  test('results come first, even if user text precedes them', () => {
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
    ['continues', true, 'X \n', [block('X')], []],
    ['is blank', true, ' \n', undefined, []],
    ['is not supported', false, 'X', undefined, ['messages']],
  ])('a last assistant message that %s', (_, prefill, words, content, lost) => {
    const found = messages([text('Q'), assistant({ type: 'text', text: words })], { prefill })
    const last = content === undefined ? [] : [{ role: 'assistant', content }]
    expect(found.messages).toEqual([{ role: 'user', content: [block('Q')] }, ...last])
    expect(found.losses).toEqual(lost)
  })

  test('the last message cannot be a call without its result', () => {
    expect(messages([text('Q'), assistant(call('c'))], { prefill: true }).messages).toHaveLength(1)
  })

  test('results with images become blocks, and errors are marked', () => {
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
