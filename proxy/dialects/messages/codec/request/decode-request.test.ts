import { describe, expect, test } from 'vitest'
import { featuresOf } from '../../../../../contract/profiles.ts'
import { addExtLosses, Losses } from '../../../ir/losses.ts'
import type { Carrier, Envelopes, ModelRequest } from '../../../ir/types.ts'
import { parseRequest } from '../../request.ts'
import { decodeRequest } from './decode-request.ts'
import { encodeRequest } from './encode-request.ts'
import { refuseStateful } from './stateful.ts'

const OPENAI: Carrier = { dialect: 'responses', kind: 'encrypted', value: 'E', id: 'rs_1' }
const ENVELOPES: Envelopes = {
  seal: () => 'sealed',
  open: (text) => (text === 'ours' ? OPENAI : text === 'forged' ? 'broken' : 'foreign'),
}

function decode(fields: object, headers = {}): ModelRequest {
  const body = { model: 'm', max_tokens: 10, messages: [{ role: 'user', content: 'Hi' }], ...fields }
  const bytes = Buffer.from(JSON.stringify(body))
  return decodeRequest(parseRequest(bytes, { maxDepth: 64, maxKeys: 10_000 }, headers), ENVELOPES)
}
function encode(request: ModelRequest) {
  const losses = new Losses()
  const features = featuresOf('messages', 'generic', { cacheMarks: false, webSearch: false })
  const target = { model: 'm', features, defaultMaxOutputTokens: 8192, losses }
  return { ...encodeRequest(request, target), losses: losses.names }
}
function lossesElsewhere(request: ModelRequest): string[] {
  const losses = new Losses()
  addExtLosses(request, 'chat', losses)
  return losses.names.sort()
}
const user = (...content: object[]) => ({ messages: [{ role: 'user', content }] })
const assistant = (...content: object[]) => ({
  messages: [
    { role: 'user', content: 'Q' },
    { role: 'assistant', content },
  ],
})
const TOOL = { name: 't', input_schema: { type: 'object' } }
const CACHE = { cache_control: { type: 'ephemeral', ttl: '1h' } }
const PNG = { type: 'base64', media_type: 'image/png', data: 'AAAA' }

/** Each is a legal body; what it becomes elsewhere is told by `lost`. */
const LEGAL: [string, object, string[]][] = [
  ['a plain text', {}, []],
  ['a stream', { stream: true }, []],
  [
    'explicit defaults',
    { stream: false, speed: 'standard', stop_sequences: [], tools: [], metadata: {}, output_config: {} },
    [],
  ],
  [
    'explicit nulls',
    {
      system: null,
      tools: null,
      thinking: null,
      metadata: { user_id: null },
      output_config: { effort: null, format: null },
      service_tier: null,
      new_field: null,
      temperature: null,
    },
    [],
  ],
  ['sampling and stops', { temperature: 0.5, top_p: 0.9, top_k: 5, stop_sequences: ['END', ' '] }, []],
  ['a system text', { system: 'S' }, []],
  ['an empty system text', { system: '' }, []],
  ['no system blocks', { system: [] }, []],
  [
    'system blocks',
    {
      system: [
        { type: 'text', text: 'S', ...CACHE },
        { type: 'text', text: '', citations: null },
      ],
    },
    [],
  ],
  [
    'a billing note among system blocks',
    {
      system: [
        { type: 'text', text: 'x-anthropic-billing-header: cc=1;' },
        { type: 'text', text: 'S' },
      ],
    },
    [],
  ],
  ['a billing note alone', { system: [{ type: 'text', text: 'x-anthropic-billing-header: cc=1;' }] }, []],
  [
    'system messages anywhere',
    {
      messages: [
        { role: 'system', content: 'A' },
        { role: 'user', content: 'Q' },
        { role: 'system', content: [{ type: 'text', text: 'B' }] },
      ],
    },
    [],
  ],
  [
    'messages of one role side by side',
    {
      messages: [
        { role: 'user', content: 'A' },
        { role: 'user', content: [{ type: 'text', text: 'B' }] },
        { role: 'assistant', content: 'C' },
        { role: 'assistant', content: ' D ' },
      ],
    },
    [],
  ],
  [
    'no blocks',
    {
      messages: [
        { role: 'user', content: [] },
        { role: 'assistant', content: '' },
      ],
    },
    [],
  ],
  ['an unknown field of a message', { messages: [{ role: 'user', content: 'A', tag: 1 }] }, ['messages.tag']],
  [
    'text with all that belongs to it',
    user({
      type: 'text',
      text: 'A',
      cache_control: { type: 'ephemeral', scope: 'global' },
      citations: [{ type: 'x' }],
    }),
    ['messages.content.cache_control.scope', 'messages.content.citations'],
  ],
  [
    'no mark',
    user(
      { type: 'text', text: 'A', cache_control: null },
      { type: 'text', text: 'B', cache_control: { type: 'ephemeral', ttl: null } },
    ),
    [],
  ],
  [
    'a mark of another kind',
    user({ type: 'text', text: 'A', cache_control: { type: 'lasting' } }),
    ['messages.content.cache_control'],
  ],
  [
    'images',
    user(
      { type: 'image', source: PNG, ...CACHE, transformations: { a: 1 } },
      { type: 'image', source: { type: 'url', url: 'https://x/y' } },
      { type: 'image', source: { type: 'file', file_id: 'f' } },
      { type: 'image', source: { type: 'new', a: 1 } },
    ),
    ['messages.content.transformations'],
  ],
  [
    'documents',
    user(
      {
        type: 'document',
        source: { type: 'base64', media_type: 'application/pdf', data: 'AAAA' },
        title: 'a.pdf',
        context: 'c',
        citations: { enabled: true },
      },
      { type: 'document', source: { type: 'text', media_type: 'text/plain', data: 'T' }, title: null },
      { type: 'document', source: { type: 'url', url: 'https://x/y.pdf' } },
      { type: 'document', source: { type: 'file', file_id: 'f' } },
      { type: 'document', source: { type: 'content', content: [{ type: 'text', text: 'T' }] } },
      { type: 'document', source: { type: 'content', content: [{ type: 'image', source: PNG }] } },
    ),
    ['messages.content.citations', 'messages.content.context'],
  ],
  [
    'a search result',
    user({
      type: 'search_result',
      source: 'https://x',
      title: 'T',
      content: [{ type: 'text', text: 'X' }],
      citations: { enabled: true },
    }),
    ['messages.content.search_result'],
  ],
  ['an upload', user({ type: 'container_upload', file_id: 'f' }), []],
  [
    'thinking, signed, redacted, empty and unsigned',
    assistant(
      { type: 'thinking', thinking: 'T', signature: 'SIG' },
      { type: 'thinking', thinking: '', signature: 'SIG2' },
      { type: 'redacted_thinking', data: 'R' },
      { type: 'thinking', thinking: 'U', signature: '' },
      { type: 'thinking', thinking: 'V' },
      { type: 'text', text: 'X' },
    ),
    [],
  ],
  [
    'calls and their results',
    {
      messages: [
        { role: 'user', content: 'Q' },
        {
          role: 'assistant',
          content: [
            { type: 'tool_use', id: 'c1', name: 't', input: { b: 1, a: [null] }, caller: { type: 'direct' } },
            {
              type: 'tool_use',
              id: 'c2',
              name: 't',
              input: {},
              caller: { type: 'code', tool_id: 's' },
              ...CACHE,
            },
            { type: 'tool_use', id: 'c3', name: 't', input: {} },
            { type: 'tool_use', id: 'c4', name: 't', input: {} },
            { type: 'tool_use', id: 'c5', name: 't', input: {} },
          ],
        },
        {
          role: 'user',
          content: [
            { type: 'tool_result', tool_use_id: 'c1', content: '20C' },
            {
              type: 'tool_result',
              tool_use_id: 'c2',
              content: [{ type: 'text', text: 'E' }],
              is_error: true,
              ...CACHE,
            },
            { type: 'tool_result', tool_use_id: 'c3' },
            { type: 'text', text: 'Go on' },
            { type: 'tool_result', tool_use_id: 'c4', content: '', is_error: false },
            {
              type: 'tool_result',
              tool_use_id: 'c5',
              content: [
                { type: 'image', source: PNG },
                { type: 'tool_reference', tool_name: 'x' },
                { type: 'browser_state', a: 1 },
              ],
            },
          ],
        },
      ],
      tools: [TOOL],
    },
    ['messages.content.cache_control', 'messages.content.caller', 'messages.content.content.tool_reference'],
  ],
  [
    'results without content',
    user(
      { type: 'tool_result', tool_use_id: 'c1', content: [] },
      { type: 'tool_result', tool_use_id: 'c2', content: null },
    ),
    [],
  ],
  [
    'hosted tools in the history',
    assistant(
      { type: 'server_tool_use', id: 's', name: 'web_search', input: { query: 'q' } },
      { type: 'web_search_tool_result', tool_use_id: 's', content: [] },
      { type: 'compaction', content: 'summary', encrypted_content: 'E' },
      { type: 'image', source: PNG },
    ),
    ['messages.content.compaction'],
  ],
  [
    'tools of every kind',
    {
      tools: [
        { ...TOOL, description: 'd', strict: false, type: 'custom', defer_loading: true, ...CACHE },
        {
          name: 'u',
          input_schema: { type: 'object', properties: {} },
          strict: true,
          type: null,
          input_examples: [{}],
        },
        {
          type: 'web_search_20250305',
          name: 'web_search',
          allowed_domains: ['a.b'],
          max_uses: 3,
          blocked_domains: null,
          user_location: { type: 'approximate', city: 'Rome', region: null },
        },
        { type: 'bash_20250124', name: 'bash', cache_control: null },
        { name: 'DeferredToolPlaceholder', input_schema: { type: 'object' }, defer_loading: true },
      ],
    },
    ['tools.defer_loading', 'tools.input_examples', 'tools.max_uses'],
  ],
  [
    'one call at a time',
    { tools: [TOOL], tool_choice: { type: 'auto', disable_parallel_tool_use: true } },
    [],
  ],
  ['any tool', { tools: [TOOL], tool_choice: { type: 'any', disable_parallel_tool_use: false } }, []],
  ['one tool', { tools: [TOOL], tool_choice: { type: 'tool', name: 't', new: 1 } }, ['tool_choice.new']],
  ['no tool', { tools: [TOOL], tool_choice: { type: 'none' } }, []],
  [
    'a hosted tool forced',
    { tools: [{ type: 'bash_20250124', name: 'bash' }], tool_choice: { type: 'tool', name: 'bash' } },
    [],
  ],
  [
    'adaptive thinking',
    { thinking: { type: 'adaptive', display: 'omitted' }, output_config: { effort: 'xhigh' } },
    [],
  ],
  [
    'a budget',
    { thinking: { type: 'enabled', budget_tokens: 2048, display: 'summarized', new: 1 } },
    ['thinking.new'],
  ],
  [
    'no thinking',
    { thinking: { type: 'disabled' }, output_config: { effort: 'max', task_budget: { total: 1 } } },
    ['output_config.task_budget'],
  ],
  ['thinking between tools', { thinking: { type: 'between_tools' } }, ['thinking']],
  [
    'a schema',
    { output_config: { format: { type: 'json_schema', schema: { type: 'object', minimum: 1 }, name: 'x' } } },
    ['output_config.format.name'],
  ],
  [
    'a schema by its old name',
    { output_format: { type: 'json_schema', schema: { type: 'object' } }, output_config: { effort: 'low' } },
    [],
  ],
  ['tiers', { service_tier: 'standard_only', metadata: { user_id: 'u', team: 1 } }, ['metadata.team']],
  ['speed beside a tier', { service_tier: 'auto', speed: 'fast' }, []],
  ['tiers of tomorrow', { service_tier: 'gold', speed: 'warp' }, ['service_tier', 'speed']],
  [
    'what only this vendor has',
    {
      cache_control: { type: 'ephemeral' },
      context_management: { edits: [] },
      container: 'c',
      mcp_servers: [{ a: 1 }],
      inference_geo: 'eu',
      x: { y: 1 },
    },
    ['cache_control', 'container', 'context_management', 'inference_geo', 'mcp_servers', 'x'],
  ],
]

describe.each(LEGAL)('%s', (_, fields, lost) => {
  test('comes back as it was, with nothing lost, whatever the features', () => {
    const { body, losses } = encode(decode(fields))
    expect(body).toEqual({
      model: 'm',
      max_tokens: 10,
      messages: [{ role: 'user', content: 'Hi' }],
      ...fields,
    })
    expect(Object.values(body)).not.toContain(undefined)
    expect(losses).toEqual([])
  })

  test('tells another dialect what it cannot have', () => {
    expect(lossesElsewhere(decode(fields))).toEqual(lost)
  })

  test('does not change under its own encoder', () => {
    const request = decode(fields)
    const before = structuredClone(request)
    encode(request)
    expect(request).toEqual(before)
  })
})

test('version and betas of the client go with its request', () => {
  const headers = { 'anthropic-version': '2026-10-21', 'anthropic-beta': 'b' }
  expect(encode(decode({}, headers)).headers).toEqual(headers)
  expect(encode(decode({})).headers).toEqual({ 'anthropic-version': '2023-06-01' })
})

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
      source: 'messages',
      model: 'm',
      stream: false,
      maxOutputTokens: 10,
      stop: ['END'],
      topK: 5,
      tier: 'default',
      user: 'u1',
      reasoning: { effort: 'high', budgetTokens: 2048, summary: 'none' },
      format: { type: 'schema', schema: { type: 'object' } },
      toolChoice: { type: 'required' },
      parallelToolCalls: false,
      tools: [{ type: 'function', name: 't', parameters: { type: 'object' }, cache: { ttl: '1h' } }],
    })
    expect(decode({ thinking: { type: 'adaptive', display: 'summarized' }, speed: 'fast' })).toMatchObject({
      reasoning: { thinking: 'adaptive', summary: 'auto' },
      tier: 'fast',
    })
    expect(decode({ thinking: { type: 'disabled' } }).reasoning).toEqual({ thinking: 'off' })
  })

  test('results are a turn before what else the user says', () => {
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

  test('system text is in its place, without the note that no other vendor should see', () => {
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
      'an envelope of ours',
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

  test('web search is one tool under all of its dates', () => {
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

  test('without any of them a request may leave', () => {
    expect(() => refuseStateful(decode({ container: null, mcp_servers: [] }))).not.toThrow()
  })
})
