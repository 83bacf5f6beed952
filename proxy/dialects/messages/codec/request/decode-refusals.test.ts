import { describe, expect, test } from 'vitest'
import { assistant, decode, TOOL, user } from './decode-testing.ts'
import { refuseStateful } from './stateful.ts'

describe('refusals name the field', () => {
  test.each([
    ['messages[0].content[0].text', user({ type: 'text', text: 1 })],
    ['messages[0].content[1].source', user({ type: 'text', text: 'x' }, { type: 'image' })],
    [
      'messages[0].content[0].source.data',
      user({ type: 'image', source: { type: 'base64', media_type: 'image/png' } }),
    ],
    ['messages[0].content[0].source.url', user({ type: 'document', source: { type: 'url' } })],
    ['messages[0].content[0].title', user({ type: 'document', source: { type: 'url', url: 'u' }, title: 1 })],
    ['messages[0].content[0].cache_control', user({ type: 'text', text: 'x', cache_control: true })],
    ['messages[0].content[0].tool_use_id', user({ type: 'tool_result' })],
    ['messages[0].content[0].content', user({ type: 'tool_result', tool_use_id: 'c', content: 1 })],
    [
      'messages[0].content[0].content[0].text',
      user({ type: 'tool_result', tool_use_id: 'c', content: [{ type: 'text' }] }),
    ],
    ['messages[0].content[0].is_error', user({ type: 'tool_result', tool_use_id: 'c', is_error: 'no' })],
    ['messages[1].content[0].input', assistant({ type: 'tool_use', id: 'c', name: 't', input: '{}' })],
    ['messages[1].content[0].id', assistant({ type: 'tool_use', name: 't', input: {} })],
    ['messages[1].content[0].thinking', assistant({ type: 'thinking', signature: 's' })],
    ['messages[1].content[0].signature', assistant({ type: 'thinking', thinking: 's', signature: 1 })],
    ['messages[1].content[0].data', assistant({ type: 'redacted_thinking' })],
    ['system[0].text', { system: [{ type: 'text' }] }],
    ['tools[0].name', { tools: [{ input_schema: {} }] }],
    ['tools[0].input_schema', { tools: [{ name: 't' }] }],
    ['tools[0].description', { tools: [{ ...TOOL, description: 1 }] }],
    ['tools[0].type', { tools: [{ ...TOOL, type: 1 }] }],
    [
      'tools[0].allowed_domains[0]',
      { tools: [{ type: 'web_search_20250305', name: 'web_search', allowed_domains: [1] }] },
    ],
    ['tool_choice', { tool_choice: 'auto' }],
    ['tool_choice.type', { tool_choice: { type: 'required' } }],
    ['tool_choice.name', { tool_choice: { type: 'tool' } }],
    ['stop_sequences', { stop_sequences: 'END' }],
    ['stop_sequences[0]', { stop_sequences: [1] }],
    ['temperature', { temperature: '1' }],
    ['top_k', { top_k: [] }],
    ['thinking', { thinking: true }],
    ['thinking.type', { thinking: {} }],
    ['thinking.budget_tokens', { thinking: { type: 'enabled' } }],
    ['output_config', { output_config: 'high' }],
    ['output_config.effort', { output_config: { effort: 'huge' } }],
    ['output_config.format.type', { output_config: { format: { type: 'json_object' } } }],
    ['output_config.format.schema', { output_config: { format: { type: 'json_schema' } } }],
    ['output_format.schema', { output_format: { type: 'json_schema' } }],
    ['metadata', { metadata: 1 }],
    ['metadata.user_id', { metadata: { user_id: 1 } }],
  ])('%s', (param, fields) => {
    expect(() => decode(fields)).toThrow(expect.objectContaining({ code: 'invalid_request', param }))
  })

  test.each(['container', 'mcp_servers', 'thread', 'safeguards'])('%s cannot leave this dialect', (param) => {
    const request = decode({ [param]: [{ a: 1 }] })
    expect(() => refuseStateful(request)).toThrow(
      expect.objectContaining({ code: 'unsupported_parameter', param }),
    )
  })

  test('a request without any of these fields can be converted', () => {
    expect(() => refuseStateful(decode({ container: null, mcp_servers: [] }))).not.toThrow()
  })
})
