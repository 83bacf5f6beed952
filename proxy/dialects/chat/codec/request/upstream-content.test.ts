/** Content of other dialects, encoded for a chat upstream. */
import { describe, expect, test } from 'vitest'
import type { ModelRequest, Turn, UserPart } from '../../../core/neutral/types.ts'
import { decode, encode, foreign } from '../testing.ts'
import { assistant, call, messagesOf, refused, text, user } from './upstream-testing.ts'

describe('content that chat has in another place', () => {
  const image = { type: 'image' as const, source: { kind: 'url' as const, url: 'https://example.com/a.png' } }
  const written = { type: 'image_url', image_url: { url: 'https://example.com/a.png' } }

  test('images of tool results come after all results and before the user’s message', () => {
    const turns: Turn[] = [
      assistant(call('1'), call('2')),
      {
        role: 'tool',
        results: [
          { callId: '1', parts: [text('r'), image] },
          { callId: '2', parts: [text('s')] },
        ],
      },
      user(text('u')),
    ]
    const { messages, losses } = messagesOf(turns)
    expect(messages).toMatchObject([
      { role: 'assistant' },
      { role: 'tool', tool_call_id: '1', content: [{ type: 'text', text: 'r' }, { type: 'text' }] },
      { role: 'tool', tool_call_id: '2', content: 's' },
      { role: 'user', content: [{ type: 'text' }, written, { type: 'text', text: 'u' }] },
    ])
    expect(losses).toEqual(['messages.content.content'])
    expect(messagesOf(turns.slice(0, 2)).messages).toHaveLength(4)
  })

  test('images of the assistant become user content', () => {
    expect(messagesOf([assistant(text('x'), image), user(text('u'))])).toEqual({
      messages: [
        { role: 'assistant', content: 'x' },
        { role: 'user', content: [written, { type: 'text', text: 'u' }] },
      ],
      losses: ['messages.content.source'],
    })
  })

  test('a failed call is marked in its text', () => {
    const results = [
      { callId: '1', parts: [text('no')], isError: true },
      { callId: '2', parts: [], isError: true },
      { callId: '3', parts: [text('Error: no')], isError: true },
    ]
    const { messages, losses } = messagesOf([{ role: 'tool', results }])
    expect(messages).toMatchObject([{ content: 'Error: no' }, { content: 'Error' }, { content: 'Error: no' }])
    expect(losses).toEqual(['messages.content.is_error'])
  })

  test('files', () => {
    const file = (source: object, name?: string) =>
      ({ type: 'file' as const, source, ...(name && { name }) }) as UserPart
    const { messages } = messagesOf([
      user(
        file({ kind: 'data', mediaType: 'application/pdf', base64: 'AAAA' }, 'a.pdf'),
        file({ kind: 'text', mediaType: 'text/plain', text: 'hi' }),
        file({ kind: 'id', id: 'file-1', vendor: 'openai' }),
      ),
    ])
    expect(messages).toMatchObject([
      {
        content: [
          { type: 'file', file: { file_data: 'data:application/pdf;base64,AAAA', filename: 'a.pdf' } },
          { type: 'file', file: { file_data: 'data:text/plain;base64,aGk=', filename: 'document.txt' } },
          { type: 'file', file: { file_id: 'file-1' } },
        ],
      },
    ])
    const url = { type: 'file' as const, source: { kind: 'url' as const, url: 'https://example.com/a.pdf' } }
    expect(refused({ turns: [user(url)] })).toMatchObject({
      code: 'unsupported_parameter',
      param: 'messages.content.source',
    })
  })

  test('more than four stop sequences are refused', () => {
    expect(encode(foreign({ stop: ['1', '2', '3', '4'] })).body.stop).toHaveLength(4)
    expect(refused({ stop: ['1', '2', '3', '4', '5'] })).toMatchObject({
      code: 'unsupported_parameter',
      param: 'stop_sequences',
    })
  })

  test('removed state is not sent again', () => {
    const message = {
      role: 'assistant',
      content: 'x',
      reasoning_content: 'T',
      reasoning_details: [{ type: 'reasoning.text', text: 'T', signature: 'SIG' }],
    }
    const request = decode({ messages: [{ role: 'user', content: 'a' }, message] })
    const without: ModelRequest = {
      ...request,
      turns: request.turns.map((turn) =>
        turn.role === 'assistant'
          ? {
              ...turn,
              parts: turn.parts.map((p) =>
                p.type === 'reasoning' ? { type: 'reasoning' as const, texts: p.texts } : p,
              ),
            }
          : turn,
      ),
    }
    expect(encode(without).body.messages).toEqual([
      { role: 'user', content: 'a' },
      { role: 'assistant', content: 'x', reasoning_content: 'T' },
    ])
  })
})
