import { describe, expect, test } from 'vitest'
import type { Features } from '../../../../../contract/features.ts'
import type { AssistantPart, ModelRequest } from '../../../core/neutral/types.ts'
import { assistant, BUDGET, block, call, encode, result, text } from './encode-testing.ts'

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
      'below the lowest level',
      { reasoning: { effort: 'minimal' } },
      {},
      { thinking: adaptive, output_config: { effort: 'low' } },
      ['reasoning_effort'],
    ],
    [
      'above the highest level',
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
      'none for a model that refuses it',
      { reasoning: { effort: 'none' } },
      { efforts: ['low'] },
      { thinking: undefined, output_config: undefined },
      ['reasoning_effort'],
    ],
    [
      'thinking without an effort',
      { reasoning: { summary: 'auto' } },
      {},
      { thinking: adaptive, output_config: undefined },
      [],
    ],
    [
      'hidden thinking',
      { reasoning: { effort: 'low', summary: 'none' } },
      {},
      { thinking: { type: 'adaptive', display: 'omitted' } },
      [],
    ],
    [
      'an effort alone',
      { reasoning: { effort: 'low' } },
      { reasoning: 'Effort' },
      { thinking: undefined, output_config: { effort: 'low' } },
      [],
    ],
    [
      'a model without thinking',
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
      'a limit with room for the budget',
      { maxOutputTokens: 5000, reasoning: { effort: 'high' } },
      { max_tokens: 5000, thinking: { type: 'enabled', budget_tokens: 4096 } },
      [],
    ],
    [
      'a limit that lowers the budget',
      { maxOutputTokens: 4096, reasoning: { effort: 'high' } },
      { max_tokens: 4096, thinking: { type: 'enabled', budget_tokens: 2048 } },
      ['reasoning_effort'],
    ],
    [
      'a limit just above the minimum budget',
      { maxOutputTokens: 1025, reasoning: { effort: 'high' } },
      { max_tokens: 1025, thinking: { type: 'enabled', budget_tokens: 1024 } },
      ['reasoning_effort'],
    ],
    [
      'a limit without room for a budget',
      { maxOutputTokens: 1024, reasoning: { effort: 'low' } },
      { max_tokens: 1024, thinking: undefined },
      ['reasoning_effort'],
    ],
    [
      'the only allowed temperature',
      { temperature: 1, reasoning: { effort: 'low' } },
      { temperature: 1 },
      [],
    ],
    [
      'another temperature',
      { temperature: 0.5, reasoning: { effort: 'low' } },
      { temperature: undefined },
      ['temperature'],
    ],
  ])('with a budget: %s', (_, fields, expected, lost) => {
    const { body, losses } = encode(fields, {}, BUDGET)
    for (const [key, value] of Object.entries(expected)) expect(body[key]).toEqual(value)
    expect(losses).toEqual(lost)
  })

  test('no budget is sent if the last calls lost their thinking', () => {
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

  test('only thinking that this vendor signed is sent to it', () => {
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
    expect(losses).toEqual(['messages.reasoning_content', 'messages.reasoning_details'])
  })
})
