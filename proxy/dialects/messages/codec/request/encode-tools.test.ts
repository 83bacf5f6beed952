import { describe, expect, test } from 'vitest'
import type { Features } from '../../../../../contract/features.ts'
import type { ModelRequest, Tool, ToolChoice, Turn } from '../../../core/neutral/types.ts'
import { assistant, call, encode, PARAMETERS, text } from './encode-testing.ts'

describe('tools', () => {
  test('schemas always describe an object', () => {
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

  test('strict is dropped for upstreams that do not enforce schemas', () => {
    const { body, losses } = encode(
      { tools: [{ type: 'function', name: 'a', strict: true }] },
      { structuredOutput: false },
    )
    expect(body.tools).toEqual([{ name: 'a', input_schema: { type: 'object', properties: {} } }])
    expect(losses).toEqual(['tools.function.strict'])
  })

  test('web search has the format of this vendor', () => {
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
    ['none requested', {}, { reasoning: 'Budget' }, 'tool', []],
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
  ])('a forced call with thinking: %s', (_, fields, features, type, lost) => {
    const tools: Tool[] = [{ type: 'function', name: 't' }]
    const { body, losses } = encode({ tools, toolChoice: forced, ...fields }, features)
    expect(body.tool_choice).toMatchObject({ type })
    expect(losses).toEqual(lost)
  })

  test('no tool choice without tools', () => {
    const { body } = encode({ toolChoice: { type: 'auto' }, parallelToolCalls: false })
    expect(body).not.toHaveProperty('tool_choice')
    expect(body).not.toHaveProperty('tools')
  })
})
