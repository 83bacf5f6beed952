import { describe, expect, test, vi } from 'vitest'
import '../../dialects/index.ts'
import { chat } from '../../dialects/chat/index.ts'
import type { UpstreamFailure } from '../../errors.ts'
import type { AnswerSink } from '../../outbound/exchange.ts'
import { UpstreamStream } from './upstream-stream.ts'

const DELTA = 'data: {"choices":[{"index":0,"delta":{"content":"Hi"},"finish_reason":null}]}\n\n'
const STOP = 'data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}\n\n'
const DONE = 'data: [DONE]\n\n'
const RESET: UpstreamFailure = { class: 'transient', detail: 'cut_stream' }

const tick = () => new Promise<void>((resolve) => process.nextTick(resolve))

/** A stream whose upstream the test controls. */
function open(maxEventBytes = 1_000) {
  let sink: AnswerSink | undefined
  const response = {
    status: 200,
    headers: {},
    isEventStream: true,
    attach: (given: AnswerSink) => {
      sink = given
    },
    pause: vi.fn(),
    resume: vi.fn(),
    abort: vi.fn(),
    noteContent: vi.fn(),
    readAll: () => Promise.reject(new Error('a stream is not read as a whole')),
  }
  const body = Buffer.from('{"model":"m","messages":[{"role":"user","content":"Hi"}],"stream":true}')
  const request = chat.parseRequest(body, { maxDepth: 10, maxKeys: 100 }, {})
  const stream = new UpstreamStream(
    response,
    chat.byteLane.observe(request, maxEventBytes, true),
    1_000,
    (bytes) => Buffer.from(bytes.toString().replaceAll('SECRET', '***')),
  )
  let opening: string | undefined
  void stream.opening().then((result) => {
    opening = result.kind === 'failed' ? result.failure.detail : result.kind
  })
  return {
    stream,
    response,
    send: (text: string) => sink?.data(Buffer.from(text)),
    end: () => sink?.end(),
    fail: () => sink?.fail(RESET),
    /** The kind of the answer as far as it is known. */
    opened: async () => {
      await new Promise(setImmediate)
      return opening
    },
  }
}

/** Takes all of a stream; `flowing` is the client's answer to each piece. */
function take({ stream }: ReturnType<typeof open>, flowing = true) {
  const taken: string[] = []
  stream.deliverTo({
    take: (bytes) => {
      taken.push(bytes.toString())
      return flowing
    },
    finished: (last) => taken.push(`finished ${last ?? ''}`),
    broke: ({ detail }) => taken.push(`broke ${detail}`),
  })
  return taken
}

describe('the opening', () => {
  test('waits for an event: blank lines and comments are not enough', async () => {
    const upstream = open()
    upstream.send('\n')
    upstream.send(': PROCESSING\n\n')
    expect(await upstream.opened()).toBeUndefined()
    upstream.send(DELTA)
    expect(await upstream.opened()).toBe('stream')
    expect(take(upstream)).toEqual([DELTA])
  })

  test.each([
    ['an error event', 'data: {"error":{"message":"no"}}\n\n', 'error_event'],
    ['an event that is too large', `data: {"x":"${'x'.repeat(1_000)}`, 'event_too_large'],
    ['a JSON answer that is too large', `{"x":"${'x'.repeat(1_000)}`, 'answer_too_large'],
  ])('%s is a failure, and the upstream connection is closed', async (_, bytes, detail) => {
    const upstream = open()
    upstream.send(bytes)
    expect(await upstream.opened()).toBe(detail)
    expect(upstream.response.abort).toHaveBeenCalledOnce()
  })

  test.each(['', ': PROCESSING\n\n', 'data: {"choi'])('an end after %j is a failure', async (bytes) => {
    const upstream = open()
    if (bytes !== '') upstream.send(bytes)
    upstream.end()
    expect(await upstream.opened()).toBe('cut_stream')
  })

  test('a JSON answer is recognized by its first byte and kept whole', async () => {
    const upstream = open()
    upstream.send(' \n{"a":')
    upstream.send('1}')
    expect(await upstream.opened()).toBeUndefined()
    upstream.end()
    expect(await upstream.stream.opening()).toEqual({ kind: 'whole', body: Buffer.from(' \n{"a":1}') })
  })

  test.each(['<!doctype html>\n\ndata: {}\n\n', 'upstream connect error\n\ndata: {}\n\n', '"text"\n\n'])(
    'an HTML page is not a stream, whatever it contains: %j',
    async (page) => {
      const upstream = open()
      upstream.send(page)
      expect(await upstream.opened()).toBeUndefined()
      upstream.end()
      expect(await upstream.stream.opening()).toEqual({ kind: 'whole', body: Buffer.from(page) })
    },
  )

  test.each(['da', 'id: 7\n', 'retry', ':', '\uFEFFdata', 'x-vendor: a\n'])(
    'a stream may start with %j',
    async (start) => {
      const upstream = open()
      upstream.send(start)
      upstream.end()
      expect(await upstream.opened()).toBe('cut_stream')
    },
  )

  test('lines that only contain the word data are not an event', async () => {
    const upstream = open()
    upstream.send('Error: no data here\n\nx: data: 1\n\n')
    upstream.end()
    expect(await upstream.opened()).toBe('bad_event')
    expect(take(upstream)).toEqual(['broke bad_event'])
  })

  const EMPTY = 'data: {"choices":[],"prompt_filter_results":[]}\n\n'
  test.each([': PROCESSING\n\n', '\n', 'data:\n\n', EMPTY])(
    '%j extends no time-out and leaves a retry possible',
    async (quiet) => {
      const upstream = open()
      for (let i = 0; i < 3; i++) {
        upstream.send(quiet)
        await tick()
      }
      expect(upstream.response.noteContent).not.toHaveBeenCalled()
      expect(upstream.response.pause).not.toHaveBeenCalled()
      upstream.fail()
      expect(await upstream.opened()).toBe('cut_stream')
    },
  )

  test('an event is held until the answer starts; after that every byte counts as content', async () => {
    const upstream = open()
    upstream.send(EMPTY)
    await tick()
    expect(await upstream.opened()).toBeUndefined()
    upstream.send(DELTA)
    await tick()
    expect(await upstream.opened()).toBe('stream')
    expect(upstream.response.noteContent).toHaveBeenCalledOnce()
    expect(take(upstream)).toEqual([EMPTY, DELTA])
    upstream.send(': ping\n\n')
    expect(upstream.response.noteContent).toHaveBeenCalledTimes(2)
  })

  test('a lot of bytes without content is not an answer', async () => {
    const upstream = open(10_000)
    upstream.send(`data: {"choices":[],"x":"${'x'.repeat(1_000)}"}\n\n`)
    expect(await upstream.opened()).toBe('answer_too_large')
  })

  test('white space around JSON does not count as content', async () => {
    const upstream = open()
    upstream.send(' \n')
    upstream.send('{"a":1}')
    upstream.send('\n\n')
    expect(upstream.response.noteContent).toHaveBeenCalledOnce()
  })
})

describe('the upstream waits', () => {
  test('from the first event until the stream is taken', async () => {
    const { response, send, ...upstream } = open()
    send(DELTA)
    await tick()
    expect([response.pause.mock.calls.length, response.resume.mock.calls.length]).toEqual([1, 0])
    expect(take({ response, send, ...upstream })).toEqual([DELTA])
    expect(response.resume).toHaveBeenCalledOnce()
  })

  test.each([true, false])('while the client does not keep up (keeps up: %s)', async (flowing) => {
    const upstream = open()
    upstream.send(DELTA)
    await tick()
    const taken = take(upstream, flowing)
    expect(upstream.response.resume).toHaveBeenCalledTimes(flowing ? 1 : 0)
    upstream.response.pause.mockClear()
    upstream.send(DELTA)
    await tick()
    expect(upstream.response.pause).toHaveBeenCalledTimes(flowing ? 0 : 1)
    expect(taken).toEqual([DELTA, DELTA])
  })
})

test('chunks of one tick are read and forwarded together', async () => {
  const upstream = open()
  const taken = take(upstream)
  upstream.send(DELTA.slice(0, 20))
  upstream.send(DELTA.slice(20))
  upstream.send(DELTA)
  expect(taken).toEqual([])
  await tick()
  upstream.send(DELTA)
  await tick()
  expect(taken).toEqual([DELTA + DELTA, DELTA])
})

test('a large chunk is read at once, what comes after it with the tick', async () => {
  const upstream = open()
  const taken = take(upstream)
  const many = DELTA.repeat(Math.ceil(32_768 / DELTA.length))
  upstream.send(DELTA)
  upstream.send(many)
  expect(taken).toEqual([DELTA + many])
  upstream.send(DELTA)
  upstream.send(STOP)
  await tick()
  expect(taken).toEqual([DELTA + many, DELTA + STOP])
  upstream.end()
  expect(taken.at(-1)).toBe(`finished ${DONE}`)
})

test('secrets are masked, at the end too', async () => {
  const upstream = open()
  const taken = take(upstream)
  const secret = DELTA.replace('Hi', 'SECRET')
  upstream.send(secret)
  await tick()
  upstream.send(STOP.replace('{}', '{"content":"SECRET"}').trimEnd())
  upstream.end()
  expect(taken).toEqual([
    secret.replace('SECRET', '***'),
    `finished ${STOP.replace('{}', '{"content":"***"}')}${DONE}`,
  ])
})

describe('the end', () => {
  test('finished: with [DONE], or with all choices finished and then a [DONE] of the gateway', () => {
    const whole = open()
    const taken = take(whole)
    whole.send(DELTA + STOP + DONE)
    whole.end()
    expect(taken).toEqual([DELTA + STOP + DONE, 'finished '])

    const without = open()
    const completed = take(without)
    without.send(DELTA + STOP)
    without.end()
    expect(completed).toEqual([DELTA + STOP, `finished ${DONE}`])
  })

  test('cut: a stream that ends in the middle is broken, with or without a connection error', () => {
    for (const stop of ['end', 'fail'] as const) {
      const upstream = open()
      const taken = take(upstream)
      upstream.send(DELTA)
      upstream[stop]()
      expect(taken).toEqual([DELTA, 'broke cut_stream'])
    }
  })

  test('a connection that breaks after a complete answer does no harm', () => {
    const upstream = open()
    const taken = take(upstream)
    upstream.send(DELTA + STOP)
    upstream.fail()
    expect(taken).toEqual([DELTA + STOP, `finished ${DONE}`])
  })

  test('an end before the stream is taken is reported after the held bytes', () => {
    const upstream = open()
    upstream.send(DELTA)
    upstream.fail()
    expect(take(upstream)).toEqual([DELTA, 'broke cut_stream'])
  })

  test('nothing follows an error event', () => {
    const upstream = open()
    const taken = take(upstream)
    upstream.send(`${DELTA}data: {"error":{"message":"no"}}\n\n${DELTA}`)
    upstream.send(DELTA)
    upstream.end()
    expect(taken).toEqual([DELTA, 'broke error_event'])
    expect(upstream.response.abort).toHaveBeenCalledOnce()
  })

  test('a last event that cannot be read breaks the stream and nothing else', () => {
    const upstream = open()
    const taken = take(upstream)
    vi.spyOn(upstream.stream.observer, 'flush').mockImplementation(() => {
      throw new RangeError('too deep')
    })
    upstream.send(DELTA)
    expect(upstream.end).not.toThrow()
    expect(taken).toEqual([DELTA, 'broke observer_failed'])
  })
})
