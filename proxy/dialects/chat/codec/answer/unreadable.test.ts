/** Answers of upstreams with invalid values in place of content. */
import { describe, expect, test } from 'vitest'
import '../../../index.ts'
import type { StreamPart } from '../../../core/neutral/types.ts'
import type { ParsedRequest } from '../../../core/request.ts'
import { parseRequest } from '../../request.ts'
import { decodeAnswer } from './decode-answer.ts'
import { ChatStreamDecoder } from './decode-stream.ts'

const BODY = Buffer.from('{"model":"m","messages":[{"role":"user","content":"Hi"}]}')
const REQUEST: ParsedRequest = parseRequest(BODY, { maxDepth: 10, maxKeys: 100 })

const CASES: [string, object][] = [
  ['unreadable_answer', { content: 7 }],
  ['unreadable_answer', { content: true }],
  ['unreadable_answer', { content: { text: 'Hi' } }],
  ['unreadable_answer', { content: [{ type: 'text', text: 7 }] }],
  ['unreadable_answer', { content: 'Hi', tool_calls: { id: 'c' } }],
  ['nameless_tool_call', { tool_calls: [{ index: 0, id: 'c', function: { arguments: '{}' } }] }],
  ['nameless_tool_call', { tool_calls: [{ index: 0, id: 'c', function: { name: '', arguments: '{}' } }] }],
]

describe('lost content makes the answer a failure', () => {
  test.each(CASES)('%s: %j', (detail, message) => {
    const answer = { choices: [{ index: 0, message, finish_reason: 'stop' }] }
    expect(decodeAnswer(answer, REQUEST)).toEqual({ class: 'unknown', status: 200, detail })
  })

  test.each(CASES)('%s in a stream: %j', (detail, delta) => {
    const { decoder, parts } = decodeAll([
      { choices: [{ index: 0, delta, finish_reason: null }] },
      { choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] },
    ])
    expect(decoder.failure).toEqual({ class: 'unknown', detail })
    expect(decoder.finished).toBe(false)
    expect(parts.some(({ type }) => type === 'finish')).toBe(false)
  })

  test('arguments that are nested too deep', () => {
    const deep: unknown = JSON.parse(`{"a":${'['.repeat(100_000)}${']'.repeat(100_000)}}`)
    const call = { index: 0, id: 'c', function: { name: 'f', arguments: deep } }
    const answer = { choices: [{ index: 0, message: { tool_calls: [call] }, finish_reason: 'tool_calls' }] }
    expect(decodeAnswer(answer, REQUEST)).toMatchObject({ detail: 'answer_too_deep' })
  })
})

test('empty values are not a loss', () => {
  const message = { content: [null, 1, 'x', {}], tool_calls: [null, {}, { function: {} }] }
  const read = decodeAnswer({ choices: [{ index: 0, message, finish_reason: 'stop' }] }, REQUEST)
  expect(read).toMatchObject({ parts: [], finish: { reason: 'stop' } })
})

test('named events that are not objects are ignored, unnamed ones are lost content', () => {
  expect(decodeAll([], ['keepalive', 'null']).decoder.failure).toBeUndefined()
  expect(decodeAll([], ['', 'null']).decoder.failure).toMatchObject({ detail: 'bad_event' })
})

function decodeAll(chunks: object[], first?: [string, string]) {
  const parts: StreamPart[] = []
  const decoder = new ChatStreamDecoder((part) => parts.push(part), REQUEST)
  if (first !== undefined) decoder.event(...first)
  for (const chunk of chunks) decoder.event('', JSON.stringify(chunk))
  decoder.event('', '[DONE]')
  decoder.end()
  return { decoder, parts }
}
