import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import '../../index.ts'
import { GatewayError } from '../../../errors.ts'
import { EventTooLarge } from '../../core/sse/splitter.ts'
import { parseRequest } from '../request.ts'
import { MessagesStreamObserver } from './stream.ts'

const BODY = { model: 'm', max_tokens: 1, messages: [{ role: 'user', content: 'Hi' }], stream: true }
const REQUEST = parseRequest(Buffer.from(JSON.stringify(BODY)), { maxDepth: 9, maxKeys: 99 }, {})

function event(type: string, fields: object = {}): string {
  return `event: ${type}\ndata: ${JSON.stringify({ type, ...fields })}\n\n`
}
function delta(fields: object): string {
  return event('content_block_delta', { index: 0, delta: fields })
}
const START = event('message_start', {
  message: {
    id: 'msg_1',
    usage: { input_tokens: 50, cache_read_input_tokens: 40, output_tokens: 1, service_tier: 'priority' },
  },
})
const OPEN = event('content_block_start', { index: 0, content_block: { type: 'text', text: '' } })
const TEXT = delta({ type: 'text_delta', text: 'a"é\n' })
const END = event('message_delta', { delta: { stop_reason: 'end_turn' }, usage: { output_tokens: 30 } })
const STOP = event('message_stop')
const WHOLE = START + OPEN + event('ping') + TEXT + event('content_block_stop', { index: 0 }) + END + STOP

function observe(text: string, size = 1_000_000) {
  const observer = new MessagesStreamObserver(REQUEST, 10_000)
  const bytes = Buffer.from(text)
  const passed: Buffer[] = []
  for (let at = 0; at < bytes.length; at += size)
    passed.push(observer.push(bytes.subarray(at, at + size)) ?? Buffer.alloc(0))
  passed.push(observer.flush() ?? Buffer.alloc(0))
  return { observer, passed: Buffer.concat(passed).toString() }
}

test('bytes pass at any split, and usage combines the start and the end', () => {
  for (let size = 1; size < 80; size++) {
    const { observer, passed } = observe(WHOLE, size)
    expect(passed).toBe(WHOLE)
    expect(observer.finished && observer.done).toBe(true)
    expect(observer.usage).toMatchObject({ input: 50, cachedInput: 40, output: 30 })
    expect(observer.tier).toBe('priority')
    expect(observer.delivered).toEqual({ deltas: 1, bytes: 5 })
  }
})

describe('an incomplete stream', () => {
  test.each([
    ['cut in a block', START + OPEN + TEXT],
    ['without message_stop', START + OPEN + TEXT + END],
    ['empty', ''],
  ])('%s', (_, text) => {
    const { observer, passed } = observe(text)
    expect(passed).toBe(text)
    expect(observer.finished).toBe(false)
    expect(observer.done).toBe(false)
  })

  test('the usage of the start does not count, because it lacks the output', () => {
    expect(observe(START + OPEN + TEXT).observer.usage).toBeUndefined()
  })

  test('half an event is dropped, a whole one gets its empty line', () => {
    const half = STOP.slice(0, -5)
    expect(observe(START + half).passed).toBe(START)
    const { observer, passed } = observe(START + STOP.trimEnd())
    expect(passed).toBe(START + STOP)
    expect(observer.finished).toBe(true)
  })
})

test('no bytes pass after the end', () => {
  const { observer, passed } = observe(`${WHOLE}data: [DONE]\n\n`)
  expect(passed).toBe(WHOLE)
  expect(observer.push(Buffer.from(TEXT))).toBeUndefined()
})

describe('errors', () => {
  const error = { type: 'overloaded_error', message: 'secret' }
  test.each([
    ['by name', event('error', { error })],
    ['by name alone', `event: error\ndata: ${JSON.stringify({ message: 'x' })}\n\n`],
    ['by name, whatever the type', `event: error\ndata: ${JSON.stringify({ type: 'server_error' })}\n\n`],
    ['by type alone', `data: ${JSON.stringify({ type: 'error', error })}\n\n`],
    ['as a bare object', `data: ${JSON.stringify({ error })}\n\n`],
  ])('%s end the stream and are withheld', (_, text) => {
    const { observer, passed } = observe(START + text + STOP)
    expect(passed).toBe(START)
    expect(observer.failure).toMatchObject({ detail: 'error_event' })
    expect(observer.finished).toBe(false)
  })

  test('an overloaded upstream may be retried', () => {
    expect(observe(event('error', { error })).observer.failure).toMatchObject({ class: 'transient' })
  })

  test('a stop reason with free text never passes', () => {
    const end = event('message_delta', { delta: { stop_reason: 'Error: key sk-1234 is no good' } })
    const { observer, passed } = observe(START + end + STOP)
    expect(passed).toBe(START)
    expect(observer.failure).toMatchObject({ detail: 'bad_event' })
  })

  test('an error of the gateway is an event of its own', () => {
    const { observer } = observe(START)
    const text = observer.errorEvent(new GatewayError('upstream_error', 'Cut.'), 'req_1').toString()
    expect(text).toMatch(/^event: error\ndata: \{"type":"error".*"request_id":"req_1"\}\n\n$/)
  })

  test('an event past the limit is refused', () => {
    const observer = new MessagesStreamObserver(REQUEST, 100)
    expect(() => observer.push(Buffer.from(`data: ${'x'.repeat(200)}`))).toThrow(EventTooLarge)
  })
})

describe('framing and escapes', () => {
  test.each([
    ['CR LF', WHOLE.replaceAll('\n', '\r\n')],
    ['CR', WHOLE.replaceAll('\n', '\r')],
    ['a byte order mark and comments', `\uFEFF: hi\n\n${WHOLE}`],
    ['no event names', WHOLE.replace(/^event: .*\n/gm, '')],
    ['names after the data', WHOLE.replace(/^(event: .*)\n(data: .*)$/gm, '$2\n$1')],
    ['no space after the colon', WHOLE.replace(/^(event|data): /gm, '$1:')],
    ['spaces in the JSON', WHOLE.replace(/":(?=\S)/g, '": ').replace(/,"/g, ', "')],
    [
      'another order of keys',
      WHOLE.replace(/\{"type":"content_block_delta","index":0,/, '{"index":0,"type":"content_block_delta",'),
    ],
  ])('%s', (_, text) => {
    const { observer, passed } = observe(text)
    expect(passed).toBe(text)
    expect(observer.finished).toBe(true)
    expect(observer.usage).toMatchObject({ input: 50, cachedInput: 40, output: 30 })
    expect(observer.delivered).toEqual({ deltas: 1, bytes: 5 })
  })

  test('an error is found after a delta with other line ends', () => {
    const delta = TEXT.replace(/^event: .*\n/, '').replaceAll('\n', '\r')
    const { observer, passed } = observe(`${delta}event: error\rdata: {}\r\n\r\n`)
    expect(passed).toBe(delta)
    expect(observer.failure).toBeDefined()
  })

  test('text, thinking and tool input count, signatures do not', () => {
    const { delivered } = observe(
      delta({ type: 'text_delta', text: 'ab' }) +
        delta({ type: 'text_delta', text: '' }) +
        delta({ type: 'thinking_delta', thinking: 'cde' }) +
        delta({ type: 'input_json_delta', partial_json: '{"' }) +
        delta({ type: 'signature_delta', signature: 'SIG' }),
    ).observer
    expect(delivered).toEqual({ deltas: 3, bytes: 7 })
  })

  test('no bytes make it throw, and the size of every plain delta is about right', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme' }), fc.integer({ min: 1, max: 50 }), (text, size) => {
        const { observer } = observe(START + delta({ type: 'text_delta', text }) + STOP, size)
        expect(observer.finished).toBe(true)
        expect(observer.delivered.deltas).toBe(text === '' ? 0 : 1)
        expect(Math.abs(observer.delivered.bytes - Buffer.byteLength(text))).toBeLessThanOrEqual(
          2 * text.length,
        )
      }),
    )
    fc.assert(
      fc.property(fc.string(), (noise) => {
        observe(`data: ${noise}\n\nevent: message_start\ndata: ${noise}\n\n${STOP}`)
      }),
    )
  })
})
