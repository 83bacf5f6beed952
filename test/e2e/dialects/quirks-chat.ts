/** Quirks in chat completions of vendors other than OpenAI. */
import { COUNTS, type Quirk } from './quirk.ts'

const chunk = (delta: object, finish_reason: string | null = null, more: object = {}) => ({
  id: 'c1',
  object: 'chat.completion.chunk',
  created: 1,
  model: 'm',
  choices: [{ index: 0, delta, finish_reason }],
  ...more,
})
const USAGE = { prompt_tokens: 20, completion_tokens: 7, total_tokens: 27 }
const usageChunk = (more: object = {}) => ({ ...chunk({}), choices: [], usage: USAGE, ...more })
const call = (index: number | undefined, id: string | undefined, name?: string, args?: string) => ({
  ...(index !== undefined && { index }),
  ...(id !== undefined && { id, type: 'function' }),
  function: { ...(name !== undefined && { name }), ...(args !== undefined && { arguments: args }) },
})

export const CHAT: Quirk[] = [
  {
    name: 'thinking as content parts, text in the last chunk',
    upstream: 'chat',
    events: [
      chunk({ role: 'assistant', content: '' }),
      chunk({ content: [{ type: 'thinking', thinking: [{ type: 'text', text: 'Let me ' }] }] }),
      chunk({
        content: [
          { type: 'thinking', thinking: [{ type: 'text', text: 'see.' }], closed: true },
          { type: 'text', text: '4' },
        ],
      }),
      chunk({ content: '2' }, 'stop', { usage: USAGE }),
    ],
    text: '42',
    reasoning: 'Let me see.',
    counts: COUNTS,
  },
  {
    name: 'thinking as content parts, not streamed',
    upstream: 'chat',
    otherDialectsOnly: true,
    body: {
      ...chunk({}),
      object: 'chat.completion',
      choices: [
        {
          index: 0,
          finish_reason: 'stop',
          message: {
            role: 'assistant',
            tool_calls: null,
            content: [
              { type: 'thinking', thinking: [{ type: 'text', text: 'Let me see.' }] },
              { type: 'text', text: '42' },
            ],
          },
        },
      ],
      usage: USAGE,
    },
    text: '42',
    reasoning: 'Let me see.',
    counts: COUNTS,
  },
  {
    name: 'empty call lists and empty texts',
    upstream: 'chat',
    events: [
      chunk({ role: 'assistant', content: '', reasoning_content: 'Think ', tool_calls: [] }),
      chunk({ role: 'assistant', content: '', reasoning_content: 'more.', tool_calls: [] }),
      chunk({ role: 'assistant', content: 'Hi', reasoning_content: '', tool_calls: [] }, 'stop'),
    ],
    text: 'Hi',
    reasoning: 'Think more.',
  },
  {
    name: 'an empty first chunk',
    upstream: 'chat',
    events: [
      { choices: [], created: 0, id: '', model: '', object: '', prompt_filter_results: [{}] },
      chunk({ role: 'assistant', content: 'Hi' }),
      chunk({}, 'stop'),
      usageChunk(),
    ],
    text: 'Hi',
    counts: COUNTS,
  },
  {
    name: 'usage in a chunk without choices after the end',
    upstream: 'chat',
    events: [
      chunk({ role: 'assistant', content: 'Hi' }),
      chunk({ content: null }, 'stop'),
      { ...usageChunk(), choices: undefined },
    ],
    text: 'Hi',
    counts: COUNTS,
  },
  {
    name: 'usage in every chunk, of which the last counts',
    upstream: 'chat',
    events: [
      chunk({ role: 'assistant', content: 'Hi' }, null, {
        usage: { ...USAGE, completion_tokens: 1, total_tokens: 21 },
      }),
      chunk({}, 'stop', { usage: USAGE }),
    ],
    text: 'Hi',
    counts: COUNTS,
  },
  {
    name: 'complete calls, all with index 0',
    upstream: 'chat',
    events: [
      chunk({ role: 'assistant', content: null }),
      chunk({ tool_calls: [call(0, 'a', 'one', '{"x":1}')] }),
      chunk({ tool_calls: [call(0, 'b', 'two', '{"y":2}')] }),
      chunk({}, 'stop'),
      usageChunk(),
    ],
    calls: [
      ['one', '{"x":1}'],
      ['two', '{"y":2}'],
    ],
    counts: COUNTS,
  },
  {
    name: 'a call without index and id',
    upstream: 'chat',
    events: [
      chunk({ role: 'assistant', tool_calls: [call(undefined, '', 'one', '{"x":1}')] }),
      chunk({}, 'tool_calls'),
    ],
    calls: [['one', '{"x":1}']],
  },
  {
    name: 'interleaved calls',
    upstream: 'chat',
    events: [
      chunk({ role: 'assistant', content: 'Both.' }),
      chunk({ tool_calls: [call(0, 'a', 'one', ''), call(1, 'b', 'two', '')] }),
      chunk({ tool_calls: [call(0, undefined, undefined, '{"x"'), call(1, undefined, undefined, '{"y"')] }),
      chunk({ tool_calls: [call(1, undefined, undefined, ':2}')] }),
      chunk({ tool_calls: [call(0, undefined, undefined, ':1}')] }),
      chunk({}, 'tool_calls'),
    ],
    text: 'Both.',
    calls: [
      ['one', '{"x":1}'],
      ['two', '{"y":2}'],
    ],
  },
  {
    name: 'a call without arguments',
    upstream: 'chat',
    events: [chunk({ role: 'assistant', tool_calls: [call(0, 'a', 'one', '')] }), chunk({}, 'tool_calls')],
    calls: [['one', '{}']],
  },
  {
    name: 'a call whose deltas repeat its type and have an empty name',
    upstream: 'chat',
    events: [
      chunk({ tool_calls: [call(0, 'a', 'one', '')], content: '' }),
      chunk({
        tool_calls: [{ index: 0, type: 'function', function: { name: '', arguments: '{"x":1}' } }],
        content: '',
      }),
      chunk({ content: '' }, 'tool_calls', {
        usage: { ...USAGE, prompt_tokens_details: { cached_tokens: 12 } },
      }),
    ],
    calls: [['one', '{"x":1}']],
    counts: { ...COUNTS, cached: 12 },
    otherDialectsOnly: true,
  },
  {
    name: 'a chunk without choices in the middle, reasoning tokens not part of the completion tokens',
    upstream: 'chat',
    events: [
      chunk({ role: 'assistant', reasoning_content: 'First' }),
      { ...usageChunk(), usage: null },
      chunk({ content: 'OK' }),
      chunk({ provider_metadata: { cost: '1' } }, 'stop'),
      usageChunk({
        usage: {
          prompt_tokens: 20,
          completion_tokens: 2,
          total_tokens: 27,
          completion_tokens_details: { reasoning_tokens: 5 },
        },
      }),
    ],
    text: 'OK',
    reasoning: 'First',
    counts: { ...COUNTS, reasoning: 5 },
  },
  {
    name: 'reasoning in the field `reasoning`, with details',
    upstream: 'chat',
    events: [
      chunk({
        role: 'assistant',
        content: '',
        reasoning: 'Hm, ',
        reasoning_details: [{ type: 'reasoning.text', text: 'Hm, ', index: 0 }],
      }),
      chunk({
        content: '',
        reasoning: 'yes.',
        reasoning_details: [{ type: 'reasoning.text', text: 'yes.', index: 0 }],
      }),
      chunk({ content: 'Yes' }),
      chunk({ content: '' }, 'stop'),
    ],
    text: 'Yes',
    reasoning: 'Hm, yes.',
  },
]
