/** Streams: the client receives the upstream's bytes and learns how the stream ended. */
import { gzipSync } from 'node:zlib'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type RunningGateway, startGateway, until } from '../harness/gateway.ts'
import { call, chatBody, eventData, expectError, jsonHeaders, open, readAll } from '../harness/http.ts'
import { apiKey, channel, route } from '../harness/resources.ts'
import { CHUNKINGS, chunked, DONE, expectBroken, sse, written } from '../harness/sse.ts'
import {
  chatAnswer,
  chatEvents,
  completion,
  json,
  type Script,
  type ScriptedUpstream,
  startUpstream,
} from '../harness/upstream.ts'

const KEY = 'sk-streams-test'
const MAX_EVENT = 100_000
const USAGE = { prompt_tokens: 3, completion_tokens: 4, total_tokens: 7 }
const WITH_USAGE = { stream: true, stream_options: { include_usage: true } }

let gateway: RunningGateway
let upstream: ScriptedUpstream
let second: ScriptedUpstream

beforeAll(async () => {
  upstream = await startUpstream()
  second = await startUpstream(chatAnswer({ content: 'from the second' }))
  const never = { ejection: { consecutiveFailures: 0 } }
  gateway = await startGateway(
    {
      'all.yaml':
        apiKey('caller', KEY) +
        channel('main', upstream.baseURL, never) +
        channel('second', second.baseURL, never) +
        channel('without-usage', upstream.baseURL, { ...never, features: { streamUsage: false } }) +
        route('one', 'm', [{ name: 'main', model: 'upstream-model' }], { retry: { attempts: 1 } }) +
        route('two', 'two', ['main', { name: 'second', priority: 1 }]) +
        route('three', 'no-usage', ['without-usage']),
    },
    { SLUICE_MAX_EVENT_BYTES: String(MAX_EVENT) },
  )
})

afterAll(async () => {
  await gateway?.stop()
  await upstream?.close()
  await second?.close()
})

const post = (more: object = {}, model = 'm') =>
  call(`${gateway.base}/v1/chat/completions`, {
    body: chatBody(model, { stream: true, ...more }),
    headers: jsonHeaders(KEY),
  })

const EVENTS = chatEvents('upstream-model', 'The whole answer, ünïcode 🎉 too ', USAGE)

describe('bytes', () => {
  const odd = [
    `\uFEFFdata:${EVENTS[0]?.slice(6)}`,
    ': a comment\n\n',
    'event: message\nid: 7\nretry: 10\n',
    `${EVENTS[1]?.trimEnd()}\n\n`,
    `${EVENTS[2]?.slice(0, -2)}\r\n\r\n`,
    'data: {"choices":[{"index":0,\ndata: "delta":{"content":"two lines"}}]}\n\n',
    'data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}], "extra": 1.0, "\\u0061":12345678901234567890}\n\n',
    DONE,
  ].join('')
  it.each(
    CHUNKINGS.flatMap(([name, cut]) => [
      ['plain', name, cut, EVENTS.join('') + DONE] as const,
      ['odd', name, cut, odd] as const,
      ['CR LF', name, cut, (EVENTS.join('') + DONE).replaceAll('\n', '\r\n')] as const,
    ]),
  )('%s, in %s, pass unchanged', async (_what, _name, cut, text) => {
    upstream.answer(sse(cut(Buffer.from(text))))
    const answer = await post(WITH_USAGE)
    expect(answer.text).toBe(text)
    expect(answer.headers).toMatchObject({
      'content-type': 'text/event-stream; charset=utf-8',
      'cache-control': 'no-cache',
      'x-accel-buffering': 'no',
    })
    expect(answer.headers['x-request-id']).toBe(answer.headers['request-id'])
    expect(answer.headers['content-length']).toBeUndefined()
  })

  it('inflates unrequested gzip', async () => {
    const text = EVENTS.join('') + DONE
    upstream.answer(sse(chunked(gzipSync(text), 20), { 'content-encoding': 'gzip' }))
    const answer = await post(WITH_USAGE)
    expect(answer.text).toBe(text)
    expect(answer.headers['content-encoding']).toBeUndefined()
    expect(upstream.calls.at(-1)?.headers['accept-encoding']).toBe('identity')
  })

  it('forwards each event without delay', async () => {
    const gate = Promise.withResolvers<void>()
    upstream.answer(async (_call, res) => {
      res.writeHead(200, { 'content-type': 'text/event-stream' })
      res.write(EVENTS[0])
      await gate.promise
      res.end(EVENTS.slice(1).join('') + DONE)
    })
    const res = await open(`${gateway.base}/v1/chat/completions`, {
      body: chatBody('m', WITH_USAGE),
      headers: jsonHeaders(KEY),
    })
    const first = await new Promise((resolve) =>
      res.once('data', (chunk: Buffer) => resolve(chunk.toString())),
    )
    expect(first).toBe(EVENTS[0])
    gate.resolve()
    expect((await readAll(res)).toString()).toBe(EVENTS.slice(1).join('') + DONE)
  })
})

describe('usage', () => {
  it('is requested by splicing, and withheld from a client that did not request it', async () => {
    upstream.answer(chatAnswer({ usage: USAGE }))
    const answer = await post()
    const sent = upstream.calls.at(-1)?.body.toString() ?? ''
    expect(JSON.parse(sent)).toEqual({
      ...JSON.parse(chatBody('upstream-model', { stream: true })),
      stream_options: { include_usage: true },
    })
    expect(sent.replace('"stream_options":{"include_usage":true},', '')).toBe(
      chatBody('upstream-model', { stream: true }),
    )
    expect(answer.text).toBe(chatEvents('upstream-model', 'Hello there', null).join('') + DONE)
    const id = answer.headers['x-request-id']
    const line = await until(() => gateway.requests().find((entry) => entry.requestId === id), 'the log line')
    expect(line).toMatchObject({ usage: { input: 3, output: 4 }, outcome: 'finished' })
  })

  it('is forwarded to a client that requested it, with the request unchanged', async () => {
    upstream.answer(chatAnswer({ usage: USAGE }))
    const answer = await post(WITH_USAGE)
    expect(answer.text).toBe(chatEvents('upstream-model', 'Hello there', USAGE).join('') + DONE)
    expect(upstream.calls.at(-1)?.body.toString()).toBe(chatBody('upstream-model', WITH_USAGE))
  })

  it('keeps the client’s other options and overrides include_usage: false', async () => {
    upstream.answer(chatAnswer())
    await post({ stream_options: { include_obfuscation: false, include_usage: false } })
    const sent = JSON.parse(upstream.calls.at(-1)?.body.toString() ?? '')
    expect(sent.stream_options).toEqual({ include_obfuscation: false, include_usage: true })
  })

  it('is not requested on a channel without the option', async () => {
    upstream.answer(chatAnswer())
    await post({}, 'no-usage')
    expect(upstream.calls.at(-1)?.body.toString()).toBe(chatBody('no-usage', { stream: true }))
  })

  it('in an event with choices is not withheld', async () => {
    const last = `data: {"choices":[{"index":0,"delta":{"content":"x"},"finish_reason":"stop"}],"usage":${JSON.stringify(USAGE)}}\n\n`
    upstream.answer(sse([...EVENTS.slice(0, 2), last, DONE]))
    expect((await post()).text).toBe(EVENTS.slice(0, 2).join('') + last + DONE)
  })
})

describe('endings', () => {
  const some = EVENTS.slice(0, 3)
  /** Resolves when the client has the status of its answer. */
  let begun = Promise.withResolvers<void>()
  const broken: [string, Script][] = [
    ['in mid event', sse([...some, 'data: {"choices":[{"ind'])],
    ['between events', sse(some)],
    [
      'by a reset',
      async (_call, res) => {
        res.writeHead(200, { 'content-type': 'text/event-stream' })
        await written(res, some.join(''))
        res.socket?.resetAndDestroy()
      },
    ],
    [
      'by an oversized event',
      async (_call, res) => {
        res.writeHead(200, { 'content-type': 'text/event-stream' })
        await written(res, some.join(''))
        // Earlier, it is a failure before the answer: 502.
        await begun.promise
        res.end(`data: {"x":"${'y'.repeat(MAX_EVENT)}y"}\n\n`)
      },
    ],
    [
      'by an error event',
      sse([...some, 'data: {"error":{"message":"worker 10.1.2.3 died","code":"server_error"}}\n\n', DONE]),
    ],
    [
      'by a named error event',
      sse([...some, 'event: error\ndata: {"message":"10.1.2.3"}\n\n', ...EVENTS.slice(3), DONE]),
    ],
    [
      'by gzip that breaks',
      sse([gzipSync(some.join('')).subarray(0, -8), 'xxxxxxxx'], { 'content-encoding': 'gzip' }),
    ],
  ]
  it.each(broken)('cut %s: an error event, and no [DONE]', async (_what, script) => {
    begun = Promise.withResolvers()
    upstream.answer(script)
    const answer = await open(`${gateway.base}/v1/chat/completions`, {
      body: chatBody('m', WITH_USAGE),
      headers: jsonHeaders(KEY),
    })
    begun.resolve()
    expect(answer.statusCode).toBe(200)
    expectBroken((await readAll(answer)).toString(), some)
    const id = answer.headers['x-request-id']
    const line = await until(() => gateway.requests().find((entry) => entry.requestId === id), 'the log line')
    expect(line).toMatchObject({ outcome: 'upstream_failed', code: 'upstream_error', status: 200 })
  })

  it.each<[string, string]>([
    ['EOF after finish_reason', EVENTS.slice(0, -1).join('')],
    ['EOF after the usage', EVENTS.join('')],
    ['EOF without the last blank line', EVENTS.join('').trimEnd()],
    ['[DONE] without its blank line', EVENTS.join('') + DONE.trimEnd()],
  ])('%s is a finished answer', async (_what, text) => {
    upstream.answer(sse([text]))
    const answer = await post(WITH_USAGE)
    expect(eventData(answer.text)).toEqual([
      ...eventData(text),
      ...(text.includes('[DONE]') ? [] : ['[DONE]']),
    ])
    expect(answer.text).toMatch(/\n\n$/)
  })

  it.each<[string, Script]>([
    ['an error event', sse(['data: {"error":{"message":"overloaded","type":"server_error"}}\n\n', DONE])],
    ['a comment and an error event', sse([': wait\n\n', 'event: error\ndata: {"message":"x"}\n\n'])],
    ['an error as JSON', (_call, res) => json(res, 200, { error: { message: 'no', code: 'server_error' } })],
    ['nothing', sse([])],
    ['half an event', sse(['data: {"cho'])],
    [
      'an HTML page',
      (_call, res) => {
        res.writeHead(200, { 'content-type': 'text/html' }).end('<html>busy</html>')
      },
    ],
    [
      'a reset',
      (_call, res) => {
        res.writeHead(200, { 'content-type': 'text/event-stream' }).flushHeaders()
        res.socket?.resetAndDestroy()
      },
    ],
  ])('%s before the first event falls over, or is a 502 without another channel', async (_what, script) => {
    upstream.answer(script)
    const calls = second.calls.length
    const fallback = await post({}, 'two')
    expect(fallback.text).toBe(chatEvents('two', 'from the second', null).join('') + DONE)
    expect(second.calls.length).toBe(calls + 1)
    expectError(await post(), 502, 'upstream_error', null, 'server_error')
  })

  it('converts a JSON answer to a stream request into a stream', async () => {
    upstream.answer((_call, res) => json(res, 200, completion('upstream-model', 'All at once', USAGE)))
    const { headers, text } = await post(WITH_USAGE)
    expect(headers['content-type']).toBe('text/event-stream; charset=utf-8')
    const data = eventData(text)
    expect(data.at(-1)).toBe('[DONE]')
    const chunks = data.slice(0, -1).map((line) => JSON.parse(line))
    expect(chunks.map((chunk) => chunk.choices[0]?.delta.content ?? '').join('')).toBe('All at once')
    expect(chunks[0].choices[0].delta.role).toBe('assistant')
    expect(chunks.filter((chunk) => chunk.choices[0]?.finish_reason === 'stop')).toHaveLength(1)
    expect(chunks.at(-1)).toMatchObject({ object: 'chat.completion.chunk', choices: [], usage: USAGE })
  })
})
