/** System text and messages that clients of this dialect send. */
import { assistant, CACHE, type Legal, PNG, TOOL, testCompleteness, user } from './decode-testing.ts'

const LEGAL: Legal[] = [
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
    'adjacent messages of one role',
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
    'text with all its fields',
    user({
      type: 'text',
      text: 'A',
      cache_control: { type: 'ephemeral', scope: 'global' },
      citations: [{ type: 'x' }],
    }),
    ['messages.content.cache_control.scope', 'messages.content.citations'],
  ],
  [
    'a null mark',
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
    ['messages.content'],
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
    ['messages.content.cache_control', 'messages.content.caller', 'messages.content.content'],
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
    ['messages.content'],
  ],
]

testCompleteness(LEGAL)
