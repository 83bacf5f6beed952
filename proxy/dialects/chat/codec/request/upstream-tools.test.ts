/** Tools of other dialects, encoded for a chat upstream. */
import { describe, expect, test } from 'vitest'
import { encode, foreign } from '../testing.ts'
import { refused } from './upstream-testing.ts'

describe('tools', () => {
  const tool = { type: 'function' as const, name: 'f' }

  test('have the format of chat', () => {
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

  test('are absent from the body, with their settings, if there are none', () => {
    const { body } = encode(foreign({ toolChoice: { type: 'auto' }, parallelToolCalls: false }))
    expect(Object.keys(body)).toEqual(['model', 'messages'])
  })

  test('are strict only if the upstream enforces it', () => {
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
