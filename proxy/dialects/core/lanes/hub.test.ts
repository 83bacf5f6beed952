import { expect, test } from 'vitest'
import { convert } from '../../../../test/conformance/dialects/codecs.ts'

/** Arguments are text in one API and an object in another. */
const called = (args: string) => ({
  model: 'm',
  messages: [
    { role: 'user', content: 'Look.' },
    {
      role: 'assistant',
      tool_calls: [{ id: 'a', type: 'function', function: { name: 'look', arguments: args } }],
    },
    { role: 'tool', tool_call_id: 'a', content: 'x' },
  ],
})
const nested = (levels: number) => `{"a":${'['.repeat(levels)}${']'.repeat(levels)}}`

test('arguments that are nested too deep are the client’s fault', () => {
  const tooDeep = called(nested(1_000_000))
  expect(() => convert('chat', tooDeep, 'messages')).toThrow(
    expect.objectContaining({
      code: 'invalid_request',
      message: 'The request is nested too deeply to be converted.',
    }),
  )
  // Text has no depth.
  expect(JSON.stringify(convert('chat', tooDeep, 'responses').body)).toContain(nested(1_000_000).slice(5))
  expect(JSON.stringify(convert('chat', called(nested(60)), 'messages').body)).toContain(nested(60))
})
