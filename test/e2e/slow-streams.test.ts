/** Silent upstreams, slow clients and clients that leave during a stream. */
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { follow } from '../harness/follow.ts'
import { type RunningGateway, startGateway, until } from '../harness/gateway.ts'
import { type CallOptions, chatBody, eventData, jsonHeaders, open, readAll } from '../harness/http.ts'
import { apiKey, channel, route } from '../harness/resources.ts'
import { connection, requestBytes } from '../harness/socket.ts'
import { DONE, written } from '../harness/sse.ts'
import {
  chatAnswer,
  chatEvents,
  completion,
  json,
  type Script,
  type ScriptedUpstream,
  startUpstream,
} from '../harness/upstream.ts'

const KEY = 'sk-slow-streams-test'
const COMMENT = /^(?::[^\n]*\n\n)+/
const MIB = 1_048_576
const EVENTS = chatEvents('m', 'Hello there', null)

let gateway: RunningGateway
let upstream: ScriptedUpstream
let second: ScriptedUpstream

beforeAll(async () => {
  upstream = await startUpstream()
  second = await startUpstream()
  const never = { ejection: { consecutiveFailures: 0 } }
  gateway = await startGateway(
    {
      'all.yaml':
        apiKey('caller', KEY) +
        channel('main', upstream.baseURL, never) +
        channel('second', second.baseURL, never) +
        route('one', 'm', ['main'], { retry: { attempts: 1 } }) +
        route('two', 'two', ['main', { name: 'second', priority: 1 }]),
    },
    { SLUICE_STREAM_KEEPALIVE: '100ms', SLUICE_CLIENT_STALL_TIMEOUT: '1500ms' },
  )
})

afterAll(async () => {
  await gateway?.stop()
  await upstream?.close()
  await second?.close()
})

const url = () => `${gateway.base}/v1/chat/completions`
const request = (more: object = { stream: true }, model = 'm'): CallOptions => ({
  body: chatBody(model, more),
  headers: jsonHeaders(KEY),
})

const sseHead = (res: ServerResponse) => res.writeHead(200, { 'content-type': 'text/event-stream' })

function logLine(headers: IncomingMessage['headers']) {
  const id = headers['x-request-id']
  return until(() => gateway.requests().find((line) => line.requestId === id), 'the log line')
}

/** A script that runs one piece for each call of `step()`. */
function stepwise(...pieces: ((res: ServerResponse) => unknown)[]): { script: Script; step(): void } {
  const gates = pieces.map(() => Promise.withResolvers<void>())
  const waiting = [...gates]
  return {
    step: () => waiting.shift()?.resolve(),
    async script(_call, res) {
      for (const [i, piece] of pieces.entries()) {
        await gates[i]?.promise
        await piece(res)
      }
    },
  }
}

describe('keep-alives', () => {
  it('are comments, sent during silence before and between events, never inside one', async () => {
    const [first = '', ...rest] = EVENTS
    const { script, step } = stepwise(
      (res) => sseHead(res).write(first),
      (res) => res.write(rest[0]?.slice(0, 20)),
      (res) => res.end(rest.join('').slice(20) + DONE),
    )
    upstream.answer(script)
    const answer = await follow(url(), request())
    const comments = () => answer.text().split(/^:.*\n\n/m).length - 1
    await until(() => comments() >= 2, 'comments before the first event')
    expect(answer.text().replace(COMMENT, '')).toBe('')

    step()
    await until(() => answer.text().includes(first), 'the first event')
    let before = comments()
    await until(() => comments() >= before + 2, 'comments between events')
    step()
    before = comments()
    await until(() => comments() >= before + 2, 'comments while an event is incomplete')
    step()
    expect(await answer.ended).toBe(true)
    expect(answer.text().replaceAll(/^:.*\n\n/gm, '')).toBe(EVENTS.join('') + DONE)
    expect((await logLine(answer.headers)).outcome).toBe('finished')
  })

  it.each<[string, number, object, string]>([
    ['a failure', 500, { error: { message: 'host 10.0.0.1' } }, 'upstream_error'],
    ['a client error', 400, { error: { message: 'no', param: 'messages' } }, 'invalid_request'],
  ])('commit only to the status: %s after one is an error event', async (_what, status, body, code) => {
    const { script, step } = stepwise((res) => json(res, status, body))
    upstream.answer(script)
    const answer = await follow(url(), request())
    await until(() => answer.text() !== '', 'a comment')
    step()
    expect(await answer.ended).toBe(true)
    const text = answer.text().replace(COMMENT, '')
    expect(text).toBe(`data: ${eventData(text)[0]}\n\n`)
    expect(JSON.parse(eventData(text)[0] ?? '').error).toMatchObject({ code })
    expect(text).not.toContain('10.0.0.1')
    expect(await logLine(answer.headers)).toMatchObject({ status: 200, code })
  })

  it('do not prevent a fallover', async () => {
    const { script, step } = stepwise((res) => json(res, 503, {}))
    upstream.answer(script)
    second.answer(chatAnswer())
    const answer = await follow(url(), request({ stream: true }, 'two'))
    await until(() => answer.text() !== '', 'a comment')
    step()
    expect(await answer.ended).toBe(true)
    expect(answer.text().replaceAll(/^:.*\n\n/gm, '')).toBe(
      chatEvents('two', 'Hello there', null).join('') + DONE,
    )
  })

  it('are not sent in JSON answers', async () => {
    const { script, step } = stepwise((res) => json(res, 200, completion('m', 'late', null)))
    upstream.answer(script)
    const answer = open(url(), request({}))
    const waiting = await follow(url(), request())
    await until(() => waiting.text().split('\n\n').length > 3, 'comments in another request')
    step()
    const body = await readAll(await answer)
    expect(JSON.parse(body.toString())).toEqual(completion('m', 'late', null))
    waiting.leave()
  })
})

const END = `data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}\n\n${DONE}`

const KEEP_ALIVE = ': keep-alive\n\n'

/** Writes events of 64 KiB as fast as they are read. */
function pour(totalBytes: number) {
  const event = `data: {"choices":[{"index":0,"delta":{"content":"${'y'.repeat(65_536)}"},"finish_reason":null}]}\n\n`
  const state = { sent: 0, movedAt: performance.now() }
  const script: Script = async (_call, res) => {
    sseHead(res)
    while (state.sent < totalBytes && !res.destroyed) {
      await written(res, event)
      state.sent += event.length
      state.movedAt = performance.now()
    }
    res.end(END)
  }
  return { state, script }
}

const rss = () =>
  Number(/^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${gateway.child.pid}/status`, 'utf8'))?.[1]) * 1_024

describe('back-pressure', () => {
  it('stops the upstream while the client does not read, and delivers everything in the end', async () => {
    const total = 200 * MIB
    const { state, script } = pour(total)
    upstream.answer(script)
    const before = rss()
    const res = await open(url(), request())
    await until(
      () => state.sent > MIB && performance.now() - state.movedAt > 300,
      'the upstream to be stopped',
    )
    expect(state.sent).toBeLessThan(40 * MIB)
    expect(rss() - before).toBeLessThan(60 * MIB)

    let received = 0
    let last = ''
    for await (const chunk of res) {
      // A busy machine may be silent for long enough.
      const text = (last + chunk.toString('latin1')).replaceAll(KEEP_ALIVE, '')
      received += text.length - last.length
      last = text.slice(-KEEP_ALIVE.length)
    }
    expect(received).toBe(state.sent + END.length)
    expect(last).toBe(DONE)
  })

  it('cuts off a client that reads nothing, and its upstream call', async () => {
    const { state, script } = pour(Number.POSITIVE_INFINITY)
    upstream.answer(script)
    const res = await open(url(), request())
    const startedAt = performance.now()
    await until(() => upstream.calls.at(-1)?.aborted, 'the upstream to be cut off')
    expect(performance.now() - startedAt).toBeGreaterThan(1_000)
    expect(state.sent).toBeLessThan(40 * MIB)
    expect((await logLine(res.headers)).outcome).toBe('client_stalled')
    res.destroy()
  })

  it('cuts off a JSON answer that the client does not read', async () => {
    upstream.answer((_call, res) => json(res, 200, completion('m', 'z'.repeat(40 * MIB), null)))
    const res = await open(url(), request({}))
    await until(async () => (await connections()) === 0, 'the connection to be closed')
    await expect(readAll(res)).rejects.toThrow()
  })

  it('does not cut off a client that reads slowly', async () => {
    const [first = '', ...rest] = EVENTS
    upstream.answer(async (_call, res) => {
      await written(sseHead(res), first)
      res.end(
        `data: {"choices":[{"index":0,"delta":{"content":"${'y'.repeat(7 * MIB)}"}}]}\n\n${rest.join('')}${DONE}`,
      )
    })
    const res = await open(url(), request())
    let received = 0
    res.on('data', (chunk: Buffer) => {
      received += chunk.length
      res.pause()
      // 3 seconds in total: twice the stall timeout.
      setTimeout(() => res.resume(), (3_000 * chunk.length) / (7 * MIB))
    })
    await once(res, 'close')
    expect(res.complete).toBe(true)
    expect(received).toBeGreaterThan(7 * MIB)
  })
})

/** Number of open client connections to the API port. */
async function connections(): Promise<number> {
  const port = Number(new URL(gateway.base).port).toString(16).toUpperCase().padStart(4, '0')
  const lines = readFileSync('/proc/net/tcp', 'utf8').split('\n')
  return lines.filter((line) => new RegExp(`^ *\\d+: 0100007F:${port} [0-9A-F:]+ 01 `).test(line)).length
}

describe('a client that leaves', () => {
  it.each<[string, object, (res: ServerResponse) => unknown, string]>([
    ['before an answer', {}, () => undefined, ''],
    ['in the middle of a JSON answer', {}, (res) => written(res.writeHead(200), '{"choices":'), ''],
    ['before a stream', { stream: true }, () => undefined, ''],
    ['after a keep-alive', { stream: true }, () => undefined, ':'],
    ['before the first event', { stream: true }, (res) => sseHead(res).flushHeaders(), ''],
    ['after the first event', { stream: true }, (res) => sseHead(res).write(EVENTS[0]), 'data:'],
  ])('%s: closes the upstream call', async (_what, more, begin, seen) => {
    let begun = false
    upstream.answer(async (_call, res) => {
      await begin(res)
      begun = true
    })
    const lines = gateway.requests().length
    const bytes = requestBytes(
      'POST /v1/chat/completions HTTP/1.1',
      [`authorization: Bearer ${KEY}`],
      chatBody('m', more),
    )
    const { socket, received } = await connection(gateway.base, bytes)
    await until(() => begun && received().includes(seen), 'the answer to have begun')
    socket.destroy()
    await until(() => upstream.calls.at(-1)?.aborted, 'the upstream call to be closed')
    const line = await until(() => gateway.requests()[lines], 'the log line')
    expect(line.outcome).toBe('client_gone')
    // Does not count against the channel.
    expect(line.attempts).toEqual([
      expect.objectContaining({ class: expect.stringMatching(/^(ok|cancelled)$/) }),
    ])
  })

  it('with pipelined requests: closes all upstream calls', async () => {
    upstream.answer(() => undefined)
    const seen = upstream.calls.length
    const bytes = requestBytes(
      'POST /v1/chat/completions HTTP/1.1',
      [`authorization: Bearer ${KEY}`],
      chatBody('m'),
    )
    const kept = Buffer.from(bytes.toString().replace('connection: close\r\n', ''))
    const { socket } = await connection(gateway.base, Buffer.concat([kept, kept]))
    await until(() => upstream.calls.length === seen + 2, 'both requests upstream')
    socket.destroy()
    await until(() => upstream.calls.slice(seen).every(({ aborted }) => aborted), 'both to be closed')
  })
})
