/** Conversations of other dialects, encoded for a chat upstream. */
import { expect, test } from 'vitest'
import { featuresOf } from '../../../../../contract/profiles.ts'
import { encode, foreign } from '../testing.ts'
import { assistant, messagesOf, SIGNED, text, user } from './upstream-testing.ts'

test('the conversation of all dialects', () => {
  const schema = {
    type: 'object',
    properties: { a: { type: 'string' } },
    required: ['a'],
    additionalProperties: false,
  }
  const parameters = { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] }
  const { body, losses } = encode(
    foreign({
      stream: true,
      wantsStreamUsage: true,
      maxOutputTokens: 2000,
      reasoning: { effort: 'high', thinking: 'adaptive', summary: 'auto' },
      parallelToolCalls: false,
      toolChoice: { type: 'required' },
      stop: ['END'],
      user: 'u1',
      tools: [{ type: 'function', name: 'get_weather', description: 'd', parameters }],
      format: { type: 'schema', name: 'out', strict: true, schema },
      turns: [
        { role: 'system', placement: 'top', parts: [text('S')] },
        user(text('What is here?'), {
          type: 'image',
          source: { kind: 'data', mediaType: 'image/png', base64: 'AAAA' },
          detail: 'low',
        }),
        assistant(
          { type: 'reasoning', texts: ['T'], carrier: SIGNED },
          text('Let me look.'),
          {
            type: 'tool-call',
            callId: 'call_1',
            name: 'get_weather',
            kind: 'function',
            input: '{"city":"Rome"}',
          },
          { type: 'tool-call', callId: 'call_2', name: 'get_weather', kind: 'function', input: '{}' },
        ),
        {
          role: 'tool',
          results: [
            { callId: 'call_1', parts: [text('20C')] },
            { callId: 'call_2', parts: [text('Error: city missing')], isError: true },
          ],
        },
        user(text('Go on')),
      ],
    }),
    'openai-reasoning',
    { developerRole: false, reasoningHistory: 'All' },
  )
  expect(body).toEqual({
    model: 'up',
    max_completion_tokens: 2000,
    reasoning_effort: 'high',
    parallel_tool_calls: false,
    tool_choice: 'required',
    stop: ['END'],
    safety_identifier: 'u1',
    stream: true,
    stream_options: { include_usage: true },
    tools: [{ type: 'function', function: { name: 'get_weather', description: 'd', parameters } }],
    response_format: { type: 'json_schema', json_schema: { name: 'out', strict: true, schema } },
    messages: [
      { role: 'system', content: 'S' },
      {
        role: 'user',
        content: [
          { type: 'text', text: 'What is here?' },
          { type: 'image_url', image_url: { url: 'data:image/png;base64,AAAA', detail: 'low' } },
        ],
      },
      {
        role: 'assistant',
        content: 'Let me look.',
        reasoning_content: 'T',
        tool_calls: [
          { id: 'call_1', type: 'function', function: { name: 'get_weather', arguments: '{"city":"Rome"}' } },
          { id: 'call_2', type: 'function', function: { name: 'get_weather', arguments: '{}' } },
        ],
      },
      { role: 'tool', tool_call_id: 'call_1', content: '20C' },
      { role: 'tool', tool_call_id: 'call_2', content: 'Error: city missing' },
      { role: 'user', content: 'Go on' },
    ],
  })
  expect(losses).toEqual(['messages.content.signature', 'messages.content.is_error'])
})

test('a conversation without content becomes one empty message', () => {
  expect(messagesOf([]).messages).toEqual([{ role: 'user', content: '' }])
})

test('every chat profile gets a valid body', () => {
  for (const profile of ['generic', 'openai', 'openai-reasoning'] as const) {
    expect(featuresOf('chat_completion', profile).streamUsage).toBe(true)
    expect(encode(foreign({ stream: true }), profile).body).toMatchObject({ model: 'up', stream: true })
  }
})
