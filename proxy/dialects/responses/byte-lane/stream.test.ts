import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import '../../index.ts'
import { GatewayError } from '../../../errors.ts'
import { EventTooLarge } from '../../core/sse/splitter.ts'
import { parseRequest } from '../request.ts'
import { ResponsesStreamObserver } from './stream.ts'

const REQUEST = parseRequest(Buffer.from('{"model":"m","input":"Hi","stream":true}'), {
  maxDepth: 9,
  maxKeys: 99,
})
const observer = (maxEventBytes = 1_000_000) => new ResponsesStreamObserver(REQUEST, maxEventBytes)

const RESPONSE = {
  id: 'resp_1',
  object: 'response',
  created_at: 5,
  model: 'up',
  status: 'in_progress',
  output: [],
}
const USAGE = { input_tokens: 5, output_tokens: 2, total_tokens: 7 }
const DONE_RESPONSE = { ...RESPONSE, status: 'completed', usage: USAGE, service_tier: 'priority' }

function event(type: string, sequence: number, fields: object, eol = '\n', named = true): string {
  const data = `data: ${JSON.stringify({ type, sequence_number: sequence, ...fields })}${eol}${eol}`
  return named ? `event: ${type}${eol}${data}` : data
}

function stream(eol = '\n', named = true): string {
  return [
    event('response.created', 0, { response: RESPONSE }, eol, named),
    event('response.output_text.delta', 1, { item_id: 'i', delta: 'Hello' }, eol, named),
    event('response.output_text.delta', 2, { item_id: 'i', delta: 'é\n"usage"' }, eol, named),
    event('response.function_call_arguments.delta', 3, { item_id: 'j', delta: '{}' }, eol, named),
    event('response.output_item.done', 4, { item: { type: 'message' } }, eol, named),
    event('response.completed', 5, { response: DONE_RESPONSE }, eol, named),
  ].join('')
}

function run(text: string, follower = observer()) {
  const pieces = [follower.push(Buffer.from(text)), follower.flush()]
  return { follower, out: Buffer.concat(pieces.filter((piece) => piece !== undefined)).toString() }
}

describe('a whole stream', () => {
  test.each([
    ['named', stream()],
    ['without event lines', stream('\n', false)],
    ['with CR LF', stream('\r\n')],
    ['with CR alone', stream('\r', false)],
    ['with comments', `: hi\n\n${stream()}`],
    ['with a BOM', `\uFEFF${stream('\n', false)}`],
    ['with stray empty lines', `\n\n\n${stream()}`],
    ['data before event', stream('\n', false).replaceAll('\n\n', '\nevent: message\n\n')],
  ])('%s', (_name, text) => {
    const { follower, out } = run(text)
    expect(out).toBe(text)
    expect(follower).toMatchObject({ finished: true, done: true, failure: undefined, tier: 'priority' })
    expect(follower.usage).toMatchObject({ input: 5, output: 2 })
    expect(follower.delivered.deltas).toBe(3)
    expect(follower.delivered.bytes).toBe(Buffer.byteLength('Helloé\n"usage"{}'))
  })

  test('in any chunks', () => {
    const bytes = Buffer.from(stream('\r\n') + stream())
    const first = stream('\r\n')
    fc.assert(
      fc.property(fc.array(fc.nat(bytes.length), { maxLength: 20 }), (cuts) => {
        const follower = observer()
        const pieces: Buffer[] = []
        let from = 0
        for (const to of [...cuts.toSorted((a, b) => a - b), bytes.length]) {
          const passed = follower.push(bytes.subarray(from, to))
          if (passed !== undefined) pieces.push(passed)
          from = to
        }
        // The LF of the last CR LF may be left unread: the CR has ended the event.
        const passed = Buffer.concat(pieces).toString()
        expect([first, first.slice(0, -1)]).toContain(passed)
        expect(follower).toMatchObject({ finished: true, delivered: { deltas: 3 } })
      }),
    )
  })

  test('drops everything after the last event', () => {
    const follower = observer()
    expect(run(`${stream()}data: [DONE]\n\n`, follower).out).toBe(stream())
    expect(follower.push(Buffer.from('data: x\n\n'))).toBeUndefined()
  })

  test('is finished if the response is incomplete', () => {
    const { follower } = run(
      event('response.incomplete', 0, { response: { ...DONE_RESPONSE, status: 'incomplete' } }),
    )
    expect(follower).toMatchObject({ finished: true, done: true })
  })

  test('finds a type that is not the first key', () => {
    const data = JSON.stringify({ response: DONE_RESPONSE, type: 'response.completed' })
    expect(run(`data: ${data}\n\n`).follower.finished).toBe(true)
  })

  test('completes a last event without its empty line', () => {
    const text = stream()
    expect(run(text.slice(0, -1)).out).toBe(text)
    expect(run(text.slice(0, -2)).out).toBe(text)
  })
})

describe('keep-alive events', () => {
  test.each(['keepalive', 'ping'])('%s passes, and the stream has not begun', (type) => {
    const { follower, out } = run(event(type, 7, {}))
    expect(out).toBe(event(type, 7, {}))
    expect(follower).toMatchObject({ begun: false, failure: undefined })
  })

  test('are dropped if they contain text', () => {
    const first = event('response.created', 0, { response: RESPONSE })
    const { follower, out } = run(first + event('keepalive', 7, { detail: 'secret' }))
    expect(out).toBe(first)
    expect(follower.failure).toBeUndefined()
  })
})

describe('the reason of an incomplete response', () => {
  const incomplete = (incomplete_details: unknown) =>
    run(
      event('response.incomplete', 0, {
        response: { ...DONE_RESPONSE, status: 'incomplete', incomplete_details },
      }),
    )

  test.each([{ reason: 'max_output_tokens' }, { reason: 'content_filter' }, { reason: null }, null])(
    '%j passes',
    (details) => {
      expect(incomplete(details).follower).toMatchObject({ finished: true, failure: undefined })
    },
  )

  test.each([
    { reason: 'Error: key sk-1234 of upstream.example is no good' },
    { reason: 'sk-0123456789abcdef' },
    { reason: { message: 'secret' } },
    { reason: 'content_filter', message: 'secret text' },
  ])('%j may be text of the upstream and is dropped', (details) => {
    const { follower, out } = incomplete(details)
    expect(out).toBe('')
    expect(follower).toMatchObject({ finished: false, failure: { detail: 'bad_event' } })
  })
})

describe('a stream that does not finish', () => {
  const cut = stream().slice(0, stream().indexOf('event: response.completed'))

  test('is cut', () => {
    const { follower, out } = run(`${cut}event: response.completed\ndata: {"type":"resp`)
    expect(out).toBe(cut)
    expect(follower).toMatchObject({ finished: false, done: false, failure: undefined, usage: undefined })
  })

  test('[DONE] alone does not finish it: an error replaces it', () => {
    const { follower, out } = run(`${cut}data: [DONE]\n\n`)
    expect(out).toBe(cut)
    expect(follower).toMatchObject({ finished: false, failure: { detail: 'cut_stream' } })
    const error = follower.errorEvent(new GatewayError('upstream_error', 'No upstream.')).toString()
    expect(error).toMatch(/^event: response\.failed\ndata: \{"type":"response.failed","sequence_number":5,/)
  })

  const failed = (error: unknown) => ({ response: { ...RESPONSE, status: 'failed', error, usage: USAGE } })
  test.each<[string, string, string, string]>([
    [
      'response.failed',
      event('response.failed', 9, failed({ code: 'rate_limit_exceeded', message: 'secret' })),
      'rate_limit',
      'response_failed',
    ],
    ['failed without an error', event('response.failed', 9, failed(null)), 'unknown', 'response_failed'],
    ['completed, and yet failed', event('response.completed', 9, failed(null)), 'unknown', 'response_failed'],
    [
      'a flat error',
      event('error', 9, { code: 'server_error', message: 'secret' }),
      'transient',
      'error_event',
    ],
    [
      'a nested one',
      event('error', 9, { error: { type: 'invalid_api_key' } }, '\n', false),
      'credential',
      'error_event',
    ],
    ['one without a type', 'data: {"error":{"code":"slow_down"}}\n\n', 'rate_limit', 'error_event'],
  ])('%s is held back', (_name, text, failure, detail) => {
    const { follower, out } = run(`${cut}${text}${stream()}`)
    expect(out).toBe(cut)
    expect(follower).toMatchObject({ finished: false, failure: { class: failure, detail } })
  })

  test('its usage is known', () => {
    const { follower } = run(cut + event('response.failed', 9, failed(null)))
    expect(follower.usage).toMatchObject({ input: 5, output: 2 })
  })

  test('the first event may be the error', () => {
    const { follower, out } = run(event('error', 0, { code: 'server_error' }))
    expect(out).toBe('')
    expect(follower.failure).toMatchObject({ class: 'transient' })
  })
})

describe('the event that ends a stream with an error', () => {
  const error = new GatewayError('upstream_error', 'No upstream.', { param: 'p' })
  const parse = (bytes: Buffer) => {
    const [line = '', data = ''] = bytes.toString().split('\n')
    return { line, data: JSON.parse(data.slice('data: '.length)) as unknown }
  }

  test('is flat before the response begins', () => {
    expect(parse(observer().errorEvent(error))).toEqual({
      line: 'event: error',
      data: {
        type: 'error',
        code: 'upstream_error',
        message: 'No upstream.',
        param: 'p',
        sequence_number: 0,
      },
    })
  })

  test.each([1, 3, 5])('is the failed response after %i events, with the next number', (count) => {
    const follower = observer()
    const events = stream().split('\n\n').slice(0, count)
    for (const text of events) follower.push(Buffer.from(`${text}\n\n`))
    follower.push(Buffer.from(': silence\n\n'))
    expect(parse(follower.errorEvent(error))).toEqual({
      line: 'event: response.failed',
      data: {
        type: 'response.failed',
        sequence_number: count,
        response: {
          ...RESPONSE,
          status: 'failed',
          error: { code: 'upstream_error', message: 'No upstream.' },
        },
      },
    })
  })
})

test('an event past the limit is an error', () => {
  expect(() => observer(10).push(Buffer.from('data: 0123456789'))).toThrow(EventTooLarge)
})

test('nothing that an upstream sends throws', () => {
  const pieces = fc.constantFrom(
    'data:',
    'event:',
    ' ',
    '\n',
    '\n\n',
    '{"type":',
    '"response.',
    'completed"',
    '"delta":',
    '"',
    '}',
    'null',
    ',',
    '\\',
    '"response":',
    '1',
  )
  fc.assert(
    fc.property(fc.array(pieces, { maxLength: 40 }), (list) => {
      const { follower } = run(list.join(''))
      follower.errorEvent(new GatewayError('upstream_error', 'x'))
    }),
  )
})
