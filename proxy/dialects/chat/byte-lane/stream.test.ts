import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import '../../index.ts'
import { EventTooLarge } from '../../core/sse/splitter.ts'
import { chat } from '../index.ts'

const LIMITS = { maxDepth: 64, maxKeys: 1000 }
function request(fields: Record<string, unknown> = {}) {
  const body = { model: 'm', messages: [{ role: 'user', content: 'Hi' }], stream: true, ...fields }
  return chat.parseRequest(Buffer.from(JSON.stringify(body)), LIMITS, {})
}
const WANTS_USAGE = { stream_options: { include_usage: true } }

const event = (chunk: unknown, eol = '\n') => `data: ${JSON.stringify(chunk)}${eol}${eol}`
const delta = (content: object, finish_reason: string | null = null, index = 0) => ({
  id: 'c',
  choices: [{ index, delta: content, finish_reason }],
})
const USAGE = { prompt_tokens: 5, completion_tokens: 2, total_tokens: 7 }
const USAGE_EVENT = event({ id: 'c', choices: [], usage: USAGE })
const DONE = 'data: [DONE]\n\n'
const HELLO = event(delta({ role: 'assistant', content: 'Hello' }))
const STOP = event(delta({}, 'stop'))

/** Pushes the stream in one chunk and flushes. */
function follow(stream: string, fields: Record<string, unknown> = {}) {
  const observer = chat.byteLane.observe(request(fields), 100_000, true)
  const pushed = observer.push(Buffer.from(stream))?.toString() ?? ''
  return { observer, pushed, flushed: observer.flush()?.toString() }
}

describe('bytes', () => {
  test('pass unchanged', () => {
    const stream = `: hi\n\nid: 1\nevent: x\ndata:{"choices": []}\n\n\n\n${HELLO}: two\n: lines\n\n${STOP}data:  [DONE] \n\n`
    const { observer, pushed, flushed } = follow(stream)
    expect(pushed).toBe(stream)
    expect(flushed).toBeUndefined()
    expect(observer.finished).toBe(true)
  })

  test('a chunk of plain events is forwarded without a copy', () => {
    const observer = chat.byteLane.observe(request(), 100_000, true)
    const chunk = Buffer.from(HELLO + HELLO)
    expect(observer.push(chunk)).toBe(chunk)
  })

  test('events after [DONE] are dropped', () => {
    const { observer, pushed, flushed } = follow(HELLO + STOP + DONE + USAGE_EVENT + HELLO)
    expect(pushed).toBe(HELLO + STOP + DONE)
    expect(observer.push(Buffer.from(HELLO))).toBeUndefined()
    expect(flushed).toBeUndefined()
    expect(observer.usage).toBeUndefined()
  })

  test('[DONE] ends the stream at once, a finish alone does not', () => {
    const observer = chat.byteLane.observe(request(), 100_000, true)
    observer.push(Buffer.from(HELLO + STOP))
    expect(observer.done).toBe(false)
    observer.push(Buffer.from('data: [DONE]\n'))
    expect(observer.done).toBe(false)
    observer.push(Buffer.from('\n'))
    expect(observer.done).toBe(true)
  })

  test('an event past the limit throws', () => {
    const observer = chat.byteLane.observe(request(), 10, true)
    expect(() => observer.push(Buffer.from('data: 123456'))).toThrow(EventTooLarge)
  })

  test('any split and any line ends pass the same bytes and give the same results', () => {
    const events = fc.constantFrom(
      delta({ content: 'a€"\n' }),
      delta({ content: 'usage"' }),
      delta({ tool_calls: [{ index: 0, function: { arguments: '{"usage":1}' } }] }),
      { ...delta({ content: 'x' }), usage: null },
      { ...delta({ reasoning_content: 'y' }), usage: USAGE, service_tier: 'flex' },
      delta({}, 'stop'),
    )
    const stream = fc.array(fc.tuple(events, fc.constantFrom('\n', '\r\n', '\r')), { maxLength: 12 })
    fc.assert(
      fc.property(stream, fc.integer({ min: 1, max: 60 }), (list, size) => {
        const bytes = Buffer.from(list.map(([chunk, eol]) => event(chunk, eol)).join(''))
        const whole = chat.byteLane.observe(request(), 100_000, true)
        const split = chat.byteLane.observe(request(), 100_000, true)
        const passed: Buffer[] = []
        for (let i = 0; i < bytes.length; i += size)
          passed.push(split.push(bytes.subarray(i, i + size)) ?? Buffer.alloc(0))
        expect(whole.push(bytes) ?? Buffer.alloc(0)).toEqual(bytes)
        expect(Buffer.concat(passed)).toEqual(bytes)
        for (const observer of [whole, split]) {
          const last = list.findLastIndex(([chunk]) => 'service_tier' in chunk)
          const after = list.slice(last + 1).filter(([chunk]) => chunk.choices[0]?.finish_reason !== 'stop')
          const isFinal = last >= 0 && after.length === 0
          expect(observer.usage?.output).toBe(isFinal ? USAGE.completion_tokens : undefined)
          expect(observer.tier).toBe(last >= 0 ? 'flex' : undefined)
          expect(observer.finished).toBe(list.some(([chunk]) => chunk.choices[0]?.finish_reason === 'stop'))
          expect(observer.delivered.deltas).toBe(
            list.filter(([chunk]) => chunk.choices[0]?.finish_reason !== 'stop').length,
          )
        }
      }),
    )
  })
})

describe('usage', () => {
  test('an event of usage alone is withheld from a client that did not request it', () => {
    for (const alone of [USAGE_EVENT, event({ usage: USAGE })]) {
      const { observer, pushed } = follow(HELLO + STOP + alone + DONE)
      expect(pushed).toBe(HELLO + STOP + DONE)
      expect(observer.usage).toMatchObject({ input: 5, output: 2 })
      expect(follow(HELLO + STOP + alone + DONE, WANTS_USAGE).pushed).toBe(HELLO + STOP + alone + DONE)
    }
  })

  test('a chunk with only a withheld event sends no bytes', () => {
    const observer = chat.byteLane.observe(request(), 100_000, true)
    expect(observer.push(Buffer.from(USAGE_EVENT))).toBeUndefined()
  })

  test('with the first chunk alone is none: deltas have come since', () => {
    const early = { ...USAGE, completion_tokens: 0 }
    const { observer } = follow(event({ ...delta({ role: 'assistant', content: '' }), usage: early }))
    expect(observer.usage).toMatchObject({ input: 5, output: 0 })
    observer.push(Buffer.from(event(delta({ content: 'a' })) + event(delta({ content: 'b' }))))
    expect(observer.usage).toBeUndefined()
    observer.push(Buffer.from(event(delta({}, 'stop'))))
    expect([observer.finished, observer.usage]).toEqual([true, undefined])
    observer.push(Buffer.from(USAGE_EVENT))
    expect(observer.usage).toMatchObject({ input: 5, output: 2 })
  })

  test('an unrequested usage event passes', () => {
    const observer = chat.byteLane.observe(request(), 100_000, false)
    const stream = HELLO + STOP + USAGE_EVENT + DONE
    expect(observer.push(Buffer.from(stream))?.toString()).toBe(stream)
    expect(observer.usage).toMatchObject({ input: 5, output: 2 })
  })

  test('usage with choices, null usage and empty choices pass', () => {
    const stream =
      event({ ...delta({}, 'stop'), usage: USAGE }) +
      event({ choices: [], usage: null }) +
      event({ choices: [] })
    expect(follow(HELLO + stream).pushed).toBe(HELLO + stream)
  })

  test('the last valid one counts', () => {
    const more = event({ ...delta({ content: '!' }), usage: { ...USAGE, completion_tokens: 3 } })
    const broken = event({ ...delta({}), usage: { completion_tokens: -1 } })
    expect(follow(event({ ...delta({}), usage: USAGE }) + more + broken).observer.usage?.output).toBe(3)
  })

  test('only usage at the top level counts', () => {
    expect(follow(HELLO + event({ ...delta({}), x_extra: { usage: USAGE } })).observer.usage).toBeUndefined()
  })
})

describe('the end', () => {
  test('a finished stream without [DONE] gets one', () => {
    const { observer, flushed } = follow(HELLO + STOP)
    expect(observer.finished).toBe(true)
    expect(flushed).toBe(DONE)
  })

  test('a cut stream does not get [DONE]', () => {
    const { observer, flushed } = follow(HELLO + HELLO)
    expect(observer.finished).toBe(false)
    expect(flushed).toBeUndefined()
  })

  test('half an event is dropped', () => {
    const { observer, flushed } = follow(HELLO + STOP.slice(0, -20))
    expect(observer.finished).toBe(false)
    expect(flushed).toBeUndefined()
  })

  test.each([
    ['[DONE] without its empty line', STOP, 'data: [DONE]', 'data: [DONE]\n\n'],
    ['[DONE] with half of it', STOP, 'data: [DONE]\n', 'data: [DONE]\n\n'],
    ['[DONE] with a CR', STOP, 'data: [DONE]\r', 'data: [DONE]\r\n\n'],
    ['a finish', HELLO, STOP.slice(0, -2), STOP + DONE],
    ['withheld usage', HELLO, USAGE_EVENT.slice(0, -1), DONE],
  ])('%s', (_, before, rest, expected) => {
    const { observer, flushed } = follow(before + rest)
    expect(flushed).toBe(expected)
    expect(observer.finished).toBe(true)
  })

  const CALL = event(delta({ tool_calls: [{ index: 0, id: 'c', function: { name: 'f', arguments: '' } }] }))
  const ROLE = event(delta({ role: 'assistant', content: '' }))
  test.each<[string, string, object?]>([
    ['after text', HELLO],
    ['after half a call', CALL],
    ['after the role alone', ROLE],
    ['of one choice of two', HELLO + STOP, { n: 2 }],
    ['after usage before more text', ROLE + HELLO + USAGE_EVENT + HELLO],
    ['after usage alone', ROLE + USAGE_EVENT],
  ])('[DONE] without a reason does not finish an answer: %s', (_, before, fields = {}) => {
    const { observer, pushed, flushed } = follow(before + DONE, { ...fields })
    expect(pushed).toBe(before.replace(USAGE_EVENT, ''))
    expect(flushed).toBeUndefined()
    expect(observer).toMatchObject({
      finished: false,
      done: false,
      failure: { class: 'transient', detail: 'no_finish_reason' },
    })
  })

  test('usage alone after content proves the end', () => {
    for (const content of [HELLO, CALL]) {
      expect(follow(content + USAGE_EVENT + DONE).observer).toMatchObject({ finished: true, done: true })
      expect(follow(content + USAGE_EVENT).flushed).toBe(DONE)
    }
  })

  test('if an upstream never sends a reason, [DONE] after content ends its answer', () => {
    const run = (stream: string) => {
      const observer = chat.byteLane.observe(request(), 100_000, true, false)
      return { passed: observer.push(Buffer.from(stream))?.toString(), flushed: observer.flush(), observer }
    }
    expect(run(HELLO + DONE)).toMatchObject({ passed: HELLO + DONE, observer: { finished: true } })
    expect(run(CALL + DONE).observer.finished).toBe(true)
    expect(run(ROLE + DONE).observer.failure?.detail).toBe('no_finish_reason')
    expect(run(HELLO)).toMatchObject({ flushed: undefined, observer: { finished: false } })
  })

  test('every choice must finish', () => {
    const first = event(delta({}, 'stop', 0))
    const second = event(delta({}, 'length', 1))
    expect(follow(HELLO + first, { n: 2 }).observer.finished).toBe(false)
    expect(follow(HELLO + first + first, { n: 2 }).observer.finished).toBe(false)
    expect(follow(HELLO + first + second, { n: 2 }).observer.finished).toBe(true)
  })

  test.each([null, '', undefined])('finish_reason %j is none', (finish_reason) => {
    const chunk = { choices: [{ index: 0, delta: { content: 'x' }, finish_reason }] }
    expect(follow(HELLO + event(chunk)).observer.finished).toBe(false)
  })
})

describe('failure', () => {
  test.each([
    [
      'an error in a choice',
      { index: 0, delta: {}, finish_reason: 'error', error: { code: 502, message: 'no' } },
    ],
    ['an invalid finish reason', { index: 0, delta: { content: '' }, finish_reason: 'error' }],
  ])('%s does not end the stream', (_, choice) => {
    const { observer, pushed, flushed } = follow(HELLO + event({ id: 'c', choices: [choice] }) + DONE)
    expect(pushed).toBe(HELLO)
    expect(flushed).toBeUndefined()
    expect(observer.failure).toMatchObject({ detail: 'error_event' })
    expect(observer.finished).toBe(false)
  })

  test.each([
    ['an error object', event({ error: { message: 'x', type: 'server_error', code: null } }), 'transient'],
    [
      'an error with choices',
      event({ ...delta({}, 'error'), error: { code: 502, message: 'x' } }),
      'transient',
    ],
    ['an error text', event({ error: 'sorry' }), 'unknown'],
    ['a named event', 'event: error\ndata: {"message":"x","code":"rate_limit_exceeded"}\n\n', 'rate_limit'],
    ['a name after the data', 'data: oops\nevent: error\n\n', 'unknown'],
    ['quota', event({ error: { code: 'insufficient_quota', type: 'insufficient_quota' } }), 'quota'],
    [
      'a choice whose reason is not a string',
      event(delta({}, 'Error: key sk-1 is no good.')),
      'unknown',
      'bad_event',
    ],
    ['a text', 'data: no json\n\n', 'transient', 'bad_event'],
    ['half an object', 'data: {"id":"c","choices":[{"index":0,"del\n\n', 'transient', 'bad_event'],
    ['not an object', 'data: null\n\n', 'transient', 'bad_event'],
    ['a text page', 'Internal Server Error\n\n', 'transient', 'bad_event'],
    ['a detail', event({ detail: 'x' }), 'unknown', 'bad_event'],
    ['a message', event({ message: 'x', code: 500 }), 'transient', 'bad_event'],
    ['an object error', event({ object: 'error', message: 'x' }), 'unknown', 'bad_event'],
    ['errors', event({ errors: [{ message: 'x' }] }), 'unknown', 'bad_event'],
    ['choices inside', event({ detail: { choices: [] } }), 'unknown', 'bad_event'],
    ['invalid choices', event({ choices: 'x' }), 'unknown', 'bad_event'],
    ['null', event({ choices: null, usage: null }), 'unknown', 'bad_event'],
    ['a key', event({ error: { code: 'invalid_api_key', type: 'invalid_request_error' } }), 'credential'],
    ['CR LF', event({ error: { type: 'overloaded_error' } }, '\r\n'), 'transient'],
  ])('%s', (_, failing, failureClass, detail = 'error_event') => {
    const first = follow(failing + HELLO)
    expect([first.pushed, first.observer.begun]).toEqual(['', false])
    expect(first.observer.failure).toMatchObject({ class: failureClass, detail })
    const { observer, pushed, flushed } = follow(HELLO + failing + HELLO + STOP + DONE)
    expect(pushed).toBe(HELLO)
    expect(observer.failure).toMatchObject({ class: failureClass, detail })
    expect(observer.push(Buffer.from(HELLO))).toBeUndefined()
    expect(flushed).toBeUndefined()
    expect(observer.finished).toBe(false)
    expect(observer.delivered.deltas).toBe(1)
  })

  test('as the first event: no bytes pass', () => {
    const observer = chat.byteLane.observe(request(), 100_000, true)
    expect(observer.push(Buffer.from(event({ error: { type: 'server_error' } })))).toBeUndefined()
    expect(observer.failure?.class).toBe('transient')
  })

  test('as an unfinished last event', () => {
    const { observer, flushed } = follow(`${HELLO}event: error\ndata: {"error":{"type":"server_error"}}`)
    expect(flushed).toBeUndefined()
    expect(observer.failure?.class).toBe('transient')
  })

  test('a null error, and the word error in a text, are not failures', () => {
    const stream =
      event({ ...delta({ content: '"error": {}' }), error: null }) + event(delta({ content: 'error' }))
    const { observer, pushed } = follow(HELLO + stream)
    expect(pushed).toBe(HELLO + stream)
    expect(observer.failure).toBeUndefined()
  })

  test('a client’s fault is recognized', () => {
    const { observer } = follow(event({ error: { code: 'context_length_exceeded', message: 'secret' } }))
    expect(observer.failure?.forCaller).toMatchObject({ code: 'context_length_exceeded', status: 400 })
  })
})

describe('delivered', () => {
  const count = (...deltas: object[]) =>
    follow(HELLO + deltas.map((d) => event(delta(d))).join('')).observer.delivered

  test.each<[string, object[], number, number]>([
    ['empty and null texts', [{ content: '', refusal: null }, {}, { role: 'assistant' }], 0, 0],
    ['content in bytes', [{ content: 'äö' }, { content: 'x' }], 2, 5],
    ['reasoning and refusal', [{ reasoning_content: '123' }, { reasoning: '12' }, { refusal: '1' }], 3, 6],
    [
      'function arguments',
      [{ tool_calls: [{ index: 0, id: 'call_1', function: { name: 'fn', arguments: '{"a":1}' } }] }],
      1,
      7,
    ],
    ['escapes', [{ content: 'a\n"\\b' }], 1, 5],
    ['brackets in texts', [{ content: '}]}' }, { content: '{[' }], 2, 5],
  ])('%s', (_, deltas, expectedDeltas, bytes) => {
    expect(count(...deltas)).toEqual({ deltas: 1 + expectedDeltas, bytes: 5 + bytes })
  })

  test('every choice of an event counts', () => {
    const both = {
      choices: [delta({ content: 'a' }).choices[0], delta({ content: 'bc' }, null, 1).choices[0]],
    }
    expect(follow(HELLO + event(both)).observer.delivered).toEqual({ deltas: 3, bytes: 8 })
  })

  test('escaped characters count like those that they encode', () => {
    const escaped = 'data: {"choices": [{"index": 0, "delta": {"content": "\\u65e5\\u672c"}}]}\n\n'
    expect(follow(HELLO + escaped).observer.delivered).toEqual({ deltas: 2, bytes: 5 + 8 })
  })

  test('a delta inside a delta counts once', () => {
    expect(count({ content: 'ab', delta: { content: 'cde', delta: { content: 'f' } } })).toEqual({
      deltas: 1 + 3,
      bytes: 5 + 6,
    })
  })

  test('an event with only nested deltas counts once', () => {
    const depth = 10_000
    const deep = `${'{"delta":'.repeat(depth)}{"content":"ab"}${'}'.repeat(depth)}`
    const nested = `data: {"choices":[{"delta":${deep}}]}\n\n`
    const observer = chat.byteLane.observe(request(), 1_000_000, true)
    observer.push(Buffer.from(HELLO + nested))
    expect(observer.delivered).toEqual({ deltas: 1 + 1, bytes: 5 + 2 })
  })

  test('a withheld event does not count', () => {
    expect(follow(HELLO + USAGE_EVENT).observer.delivered).toEqual({ deltas: 1, bytes: 5 })
  })
})

test('any bytes are read without an exception', () => {
  const junk = fc.string({
    unit: fc.constantFrom(
      'data:',
      ' ',
      '\n',
      '\r',
      '{',
      '}',
      '"',
      '\\',
      'usage"',
      '"delta":{',
      '"content":"',
      ':',
      'x',
      '[DONE]',
    ),
    maxLength: 60,
  })
  fc.assert(
    fc.property(fc.array(fc.oneof(junk, fc.uint8Array({ maxLength: 30 })), { maxLength: 8 }), (chunks) => {
      const observer = chat.byteLane.observe(request(), 100_000, true)
      observer.push(Buffer.from(HELLO))
      for (const chunk of chunks)
        observer.push(typeof chunk === 'string' ? Buffer.from(chunk) : Buffer.from(chunk))
      observer.flush()
      expect(observer.delivered.bytes).toBeGreaterThanOrEqual(5)
    }),
  )
})
