import { describe, expect, test } from 'vitest'
import { assistant, CACHE, decode, OPENAI, TOOL, user } from './decode-testing.ts'

describe('the neutral form', () => {
  test('scalars', () => {
    const fields = {
      stop_sequences: ['END'],
      top_k: 5,
      service_tier: 'standard_only',
      metadata: { user_id: 'u1' },
      thinking: { type: 'enabled', budget_tokens: 2048, display: 'omitted' },
      output_config: { effort: 'high', format: { type: 'json_schema', schema: { type: 'object' } } },
      tool_choice: { type: 'any', disable_parallel_tool_use: true },
      tools: [{ ...TOOL, ...CACHE }],
    }
    expect(decode(fields)).toMatchObject({
      model: 'm',
      stream: false,
      maxOutputTokens: 10,
      stop: ['END'],
      topK: 5,
      tier: 'default',
      user: 'u1',
      reasoning: { effort: 'high', budgetTokens: 2048, summary: 'none' },
      format: { type: 'schema', schema: { type: 'object' }, enforced: true },
      toolChoice: { type: 'required' },
      parallelToolCalls: false,
      tools: [{ type: 'function', name: 't', parameters: { type: 'object' }, cache: { ttl: '1h' } }],
    })
    expect(decode({ thinking: { type: 'adaptive', display: 'summarized' }, speed: 'fast' })).toMatchObject({
      reasoning: { thinking: 'adaptive', summary: 'auto' },
      tier: 'fast',
      speed: true,
    })
    expect(decode({ thinking: { type: 'disabled' } }).reasoning).toEqual({ thinking: 'off' })
  })

  test('results become a turn before the rest of the user message', () => {
    const { turns } = decode(
      user(
        { type: 'text', text: 'Go on' },
        { type: 'tool_result', tool_use_id: 'c1', content: 'R', is_error: true },
      ),
    )
    expect(turns).toMatchObject([
      { role: 'tool', results: [{ callId: 'c1', parts: [{ type: 'text', text: 'R' }], isError: true }] },
      { role: 'user', parts: [{ type: 'text', text: 'Go on' }] },
    ])
  })

  test('system text stays in its place, without the billing note', () => {
    const system = [
      { type: 'text', text: 'x-anthropic-billing-header: cc' },
      { type: 'text', text: 'S', ...CACHE },
    ]
    const { turns } = decode({
      system,
      messages: [
        { role: 'user', content: 'Q' },
        { role: 'system', content: 'T' },
      ],
    })
    expect(turns).toMatchObject([
      { role: 'system', placement: 'top', parts: [{ type: 'text', text: 'S', cache: { ttl: '1h' } }] },
      { role: 'user' },
      { role: 'system', placement: 'message', parts: [{ type: 'text', text: 'T' }] },
    ])
  })

  test.each([
    [
      'a signature of the vendor',
      { type: 'thinking', thinking: 'T', signature: 'SIG' },
      { texts: ['T'], carrier: { dialect: 'messages', kind: 'signature', value: 'SIG' } },
    ],
    [
      'a redacted block',
      { type: 'redacted_thinking', data: 'R' },
      { texts: [], carrier: { dialect: 'messages', kind: 'redacted', value: 'R' } },
    ],
    [
      'an envelope of the gateway',
      { type: 'thinking', thinking: '', signature: 'ours' },
      { texts: [], carrier: OPENAI },
    ],
    [
      'a forged envelope',
      { type: 'thinking', thinking: 'T', signature: 'forged' },
      { texts: ['T'], lostCarrier: true },
    ],
  ])('%s', (_, block, part) => {
    expect(decode(assistant(block)).turns[1]).toMatchObject({ parts: [{ type: 'reasoning', ...part }] })
  })

  test('tool input keeps the order of its keys', () => {
    const block = { type: 'tool_use', id: 'c', name: 't', input: { b: 1, a: { d: null, c: '"' } } }
    expect(decode(assistant(block)).turns[1]).toMatchObject({
      parts: [
        {
          type: 'tool-call',
          callId: 'c',
          name: 't',
          kind: 'function',
          input: '{"b":1,"a":{"d":null,"c":"\\""}}',
        },
      ],
    })
  })

  test('all versions of web search are one tool', () => {
    const tools = [
      {
        type: 'web_search_20260318',
        name: 'web_search',
        allowed_domains: ['a.b'],
        user_location: { type: 'approximate', city: 'Rome' },
      },
    ]
    expect(decode({ tools, tool_choice: { type: 'tool', name: 'web_search' } })).toMatchObject({
      tools: [{ type: 'web-search', allowedDomains: ['a.b'], userLocation: { city: 'Rome' } }],
      toolChoice: { type: 'web-search' },
    })
  })

  test.each([
    [
      { type: 'search_result', source: 'https://x', title: 'T', content: [{ type: 'text', text: 'X' }] },
      'T\nhttps://x\nX',
    ],
    [{ type: 'compaction', content: 'summary' }, 'summary'],
  ])('%j is text elsewhere', (block, text) => {
    const messages = [{ role: block.type === 'compaction' ? 'assistant' : 'user', content: [block] }]
    expect(decode({ messages }).turns[0]).toMatchObject({ parts: [{ type: 'text', text }] })
  })
})
