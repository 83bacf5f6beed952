/** Calls whose arguments are not a JSON object: no client may get one that it could run. */
import { describe, expect, it } from 'vitest'
import { CALL_ID, type Ending, NAME, streamedCall, wholeCall } from './broken-calls.ts'
import { type DialectName, laneOf, minimalRequest, NAMES } from './codecs.ts'
import { transmit } from './laws.ts'
import { specEvents } from './sse.ts'
import { readStrictly } from './strict.ts'
import { viewOf } from './views.ts'

const PAIRS = NAMES.flatMap((client) =>
  NAMES.filter((upstream) => upstream !== client).map((upstream) => [client, upstream] as const),
)
const BROKEN = ['{"path": "/tmp', '{"path": rome}', '[1,2]', '"text"', '7', 'null', '{}{}']

/** Splits a text of at least two characters in two. */
const halves = (text: string) => [text.slice(0, 1), text.slice(1)].filter((half) => half !== '')
const whole = (client: DialectName, upstream: DialectName, input: string, ending: Ending) =>
  laneOf(client, minimalRequest(client), upstream).readAnswer(
    Buffer.from(JSON.stringify(wholeCall(upstream, input, ending))),
    false,
  )
const streamed = (client: DialectName, upstream: DialectName, input: string, ending: Ending) =>
  transmit(client, upstream, [Buffer.from(streamedCall(upstream, halves(input), ending))])

/** Signs for a client that a call or the whole answer is finished. */
const FINISHED: Record<DialectName, RegExp> = {
  chat: /"finish_reason":"/,
  messages: /content_block_stop|message_delta|message_stop/,
  responses: /arguments\.done|output_item\.done|response\.(?:completed|incomplete)/,
}

describe.each(PAIRS)('%s over %s', (client, upstream) => {
  it.each(BROKEN)('an answer that calls with %j is a failure', (input) => {
    expect(whole(client, upstream, input, 'calls')).toMatchObject({ detail: 'broken_tool_arguments' })
  })

  it.each(BROKEN)('a stream that calls with %j ends before the call is finished', (input) => {
    const { text, finished, failed } = streamed(client, upstream, input, 'calls')
    expect({ finished, failed }).toEqual({ finished: false, failed: true })
    expect(text).not.toMatch(FINISHED[client])
  })

  it.each(['', ' ', '{}', '{"path":"/tmp"}'])('a call with %j arrives', (input) => {
    const expected = { id: CALL_ID, kind: 'function', name: NAME, input: JSON.parse(input.trim() || '{}') }
    const answer = whole(client, upstream, input, 'calls')
    expect('body' in answer && viewOf(client, JSON.parse(answer.body.toString())).calls).toEqual([expected])
    const { text } = streamed(client, upstream, input, 'calls')
    expect(viewOf(client, readStrictly(client, text)).calls).toEqual([expected])
  })

  it.each([
    ['{"path": "/tmp', 'limit', 'length'],
    ['', 'limit', 'length'],
    ['{"path": "/tmp', 'filter', 'content-filter'],
  ] as const)('a call that ends at %j because of the %s is not finished', (input, ending, finish) => {
    const answer = whole(client, upstream, input, ending)
    if (!('body' in answer)) throw new Error(answer.detail)
    const read = JSON.parse(answer.body.toString())
    const received = streamed(client, upstream, input, ending)
    expect(received.failed).toBe(false)
    const strict = readStrictly(client, received.text)
    expect([viewOf(client, read).finish, viewOf(client, strict).finish]).toEqual([finish, finish])
    if (client === 'messages') {
      expect([read.content, viewOf(client, strict).calls]).toEqual([[], []])
      expect(received.text).not.toContain('content_block_stop')
    } else if (client === 'chat') {
      expect(read.choices[0].message).not.toHaveProperty('tool_calls')
      // The arguments are unchanged, and not an object.
      expect(strict).toMatchObject({
        choices: [{ message: { tool_calls: [{ function: { arguments: input } }] } }],
      })
    } else {
      for (const { output, status } of [read, strict as typeof read]) {
        expect(status).toBe('incomplete')
        expect(output).toMatchObject([{ type: 'function_call', status: 'incomplete', arguments: input }])
      }
      expect(received.text).not.toMatch(/arguments\.done|output_item\.done/)
    }
  })

  it('a complete call stays complete at the limit', () => {
    const { text } = streamed(client, upstream, '{"path":"/tmp"}', 'limit')
    expect(viewOf(client, readStrictly(client, text))).toMatchObject({
      finish: 'length',
      calls: [{ input: { path: '/tmp' } }],
    })
  })
})

it.each(NAMES)('%s: its own bytes pass, also through the hub at the limit', (dialect) => {
  const { failed, text } = streamed(dialect, dialect, '{"path": "/tmp', 'limit')
  expect(failed).toBe(false)
  expect(specEvents(text).length).toBeGreaterThan(3)
})

describe('one broken call among others', () => {
  const chunk = (delta: object, finish_reason: string | null = null) =>
    `data: ${JSON.stringify({ id: 'c', choices: [{ index: 0, delta, finish_reason }] })}\n\n`
  const call = (index: number, input: string) =>
    chunk({ tool_calls: [{ index, id: `c${index}`, function: { name: 'f', arguments: input } }] })

  it.each(['tool_calls', 'length'])('is a failure unless it is the last (%s)', (reason) => {
    const stream = [call(0, '{"a":'), call(1, '{}'), chunk({}, reason), 'data: [DONE]\n\n'].join('')
    expect(transmit('messages', 'chat', [Buffer.from(stream)])).toMatchObject({
      failed: true,
      finished: false,
    })
  })

  it('that the limit cut does not affect the others', () => {
    const stream = [call(0, '{"a":1}'), call(1, '{"b":'), chunk({}, 'length'), 'data: [DONE]\n\n'].join('')
    const { text } = transmit('messages', 'chat', [Buffer.from(stream)])
    expect(viewOf('messages', readStrictly('messages', text)).calls.map(({ input }) => input)).toEqual([
      { a: 1 },
    ])
  })

  it('before text is a failure as soon as the text starts', () => {
    const observer = laneOf('responses', minimalRequest('responses', { stream: true }), 'messages').observe(
      1 << 20,
    )
    const begun = streamedCall('messages', ['{"a":'], 'calls')
    observer.push(Buffer.from(begun.slice(0, begun.indexOf('event: message_delta'))))
    expect(observer.failure).toBeUndefined()
    const block = { type: 'content_block_start', index: 1, content_block: { type: 'text', text: '' } }
    observer.push(Buffer.from(`data: ${JSON.stringify(block)}\n\n`))
    expect(observer.failure).toMatchObject({ detail: 'broken_tool_arguments' })
  })
})
