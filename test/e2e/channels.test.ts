/** Channel failures: ejection, timeouts and failing connections; and channels with TLS. */
import { execFileSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { type RunningGateway, startGateway, until } from '../harness/gateway.ts'
import { type Answer, call, chatBody, eventData, expectError, jsonHeaders } from '../harness/http.ts'
import { apiKey, channel, documents, route } from '../harness/resources.ts'
import { written } from '../harness/sse.ts'
import {
  chatAnswer,
  chatEvents,
  json,
  type Script,
  type ScriptedUpstream,
  startUpstream,
} from '../harness/upstream.ts'

const KEY = 'sk-channels-test'
const INTERVAL_MS = 400
const EJECTING = { ejection: { consecutiveFailures: 3, interval: `${INTERVAL_MS}ms`, maxInterval: '1s' } }
const NEVER = { ejection: { consecutiveFailures: 0 } }
const CLOSED_PORT = 'http://127.0.0.1:1/v1'

let gateway: RunningGateway
let a: ScriptedUpstream
let b: ScriptedUpstream
let secured: ScriptedUpstream
let certificate: { key: string; cert: string }

beforeAll(async () => {
  certificate = makeCertificate()
  ;[a, b, secured] = await Promise.all([
    startUpstream(),
    startUpstream(),
    startUpstream(chatAnswer(), certificate),
  ])
  const trouble = (name: string, baseURL: string, spec: object = {}, retry: object = {}) =>
    channel(name, baseURL, { ...NEVER, ...spec }) +
    route(name, name, [name, { name: 'b', priority: 1 }], { retry }) +
    route(`${name}-only`, `${name}-only`, [name], { retry: { ...retry, attempts: 1 } })
  const caRef = { caRef: { name: 'ca' } }
  gateway = await startGateway({
    'all.yaml': [
      apiKey('caller', KEY),
      channel('b', b.baseURL, NEVER),
      trouble('eject', a.baseURL, { ejection: { consecutiveFailures: 3 } }),
      trouble('probe', a.baseURL, EJECTING),
      trouble('last', a.baseURL, EJECTING),
      channel('both-a', a.baseURL, EJECTING),
      channel('both-b', b.baseURL, EJECTING),
      route('both', 'both', ['both-a', 'both-b'], { retry: { attempts: 1 } }),
      trouble('first-byte', a.baseURL, { timeouts: { firstByte: '300ms' } }),
      trouble('per-try', a.baseURL, {}, { perTryTimeout: '300ms' }),
      trouble('idle', a.baseURL, { timeouts: { idle: '300ms' } }),
      trouble('total', a.baseURL, { timeouts: { total: '500ms' } }),
      trouble('refused', CLOSED_PORT),
      trouble('no-name', 'http://nowhere.invalid/v1'),
      trouble('no-http', `http://127.0.0.1:${new URL(secured.baseURL).port}/v1`),
      documents({
        apiVersion: 'v1',
        kind: 'Secret',
        metadata: { name: 'ca' },
        stringData: { 'ca.crt': certificate.cert },
      }),
      trouble('tls', secured.baseURL, { tls: caRef }),
      trouble('tls-name', secured.baseURL, { tls: { ...caRef, serverName: 'upstream.test' } }),
      trouble('tls-other-name', secured.baseURL, { tls: { ...caRef, serverName: 'other.test' } }),
      trouble('tls-untrusted', secured.baseURL),
    ].join(''),
  })
})

afterAll(async () => {
  await gateway?.stop()
  await Promise.all([a?.close(), b?.close(), secured?.close()])
})

beforeEach(() => {
  for (const upstream of [a, b, secured]) {
    upstream.calls.length = 0
    upstream.answer(chatAnswer())
  }
})

/** A self-signed certificate for upstream.test and 127.0.0.1. */
function makeCertificate(): { key: string; cert: string } {
  const dir = mkdtempSync(join(tmpdir(), 'sluice-tls-'))
  try {
    const [key, cert] = [join(dir, 'key.pem'), join(dir, 'cert.pem')]
    const names = 'subjectAltName=DNS:upstream.test,IP:127.0.0.1'
    const curve = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1']
    const args = [
      'req',
      '-x509',
      ...curve,
      '-nodes',
      '-days',
      '1',
      '-subj',
      '/CN=upstream.test',
      '-addext',
      names,
    ]
    execFileSync('openssl', [...args, '-keyout', key, '-out', cert], { stdio: 'ignore' })
    return { key: readFileSync(key, 'utf8'), cert: readFileSync(cert, 'utf8') }
  } finally {
    rmSync(dir, { recursive: true })
  }
}

const send = (model: string, more: object = {}): Promise<Answer> =>
  call(`${gateway.base}/v1/chat/completions`, { body: chatBody(model, more), headers: jsonHeaders(KEY) })
const fail: Script = (_call, res) => json(res, 500, { error: { message: 'no' } })

async function attemptsOf(answer: Answer) {
  const id = answer.headers['x-request-id']
  const line = await until(() => gateway.requests().find((entry) => entry.requestId === id), 'the log line')
  return line.attempts
}

describe('ejection', () => {
  it('ejects a channel after consecutive failures, and not before', async () => {
    let fails = 2
    a.answer((upstreamCall, res) => (fails-- > 0 ? fail(upstreamCall, res) : chatAnswer()(upstreamCall, res)))
    for (let i = 0; i < 3; i++) expect((await send('eject')).status).toBe(200)
    expect([a.calls.length, b.calls.length]).toEqual([3, 2])

    a.answer(fail)
    for (let i = 0; i < 3; i++) await send('eject')
    expect(a.calls.length).toBe(6)
    const metric = /^sluice_channel_ejected\{[^}]*channel="default\/eject"[^}]*\} 1$/m
    expect((await call(`${gateway.admin}/metrics`)).text).toMatch(metric)
    const answers = await Promise.all(Array.from({ length: 10 }, () => send('eject')))
    expect(answers.map((answer) => answer.status)).toEqual(Array(10).fill(200))
    expect(a.calls.length).toBe(6)
  })

  it('probes the channel with one request after the interval; the next ejection is longer, a success ends it', async () => {
    a.answer(fail)
    for (let i = 0; i < 3; i++) await send('probe')
    let ejectedAt = performance.now()
    const intervals: number[] = []
    for (const probes of [4, 5]) {
      await until(async () => {
        const answers = await Promise.all([send('probe'), send('probe'), send('probe')])
        expect(answers.map((answer) => answer.status)).toEqual([200, 200, 200])
        return a.calls.length === probes
      }, 'a probe')
      intervals.push(performance.now() - ejectedAt)
      ejectedAt = performance.now()
    }
    expect(intervals[0]).toBeGreaterThan(INTERVAL_MS * 0.9)
    expect(intervals[1]).toBeGreaterThan(2 * INTERVAL_MS * 0.9)
    a.answer(chatAnswer())
    await until(
      async () => (await send('probe')).status === 200 && a.calls.length > 5,
      'the probe that succeeds',
    )
    const calls = a.calls.length
    await Promise.all(Array.from({ length: 10 }, () => send('probe')))
    expect(a.calls.length).toBe(calls + 10)
  })

  it('never ejects the last channel', async () => {
    a.answer(fail)
    for (let i = 0; i < 8; i++) expect((await send('last-only')).status).toBe(502)
    expect(a.calls.length).toBe(8)
    a.answer(chatAnswer())
    expect((await send('last-only')).status).toBe(200)

    a.answer(fail)
    b.answer(fail)
    for (let i = 0; i < 20; i++) expect((await send('both')).status).toBe(502)
    expect(a.calls.length + b.calls.length).toBe(9 + 20)
  })

  it('is not caused by client errors', async () => {
    a.answer((_call, res) => json(res, 400, { error: { message: 'no' } }))
    for (let i = 0; i < 6; i++) await send('last')
    expect([a.calls.length, b.calls.length]).toEqual([6, 0])
  })
})

describe('timeouts and failing connections', () => {
  const silent: Script = () => undefined
  const half: Script = (_call, res) => void res.writeHead(200).write('{"choices":')
  it.each<[string, string, Script]>([
    ['first-byte', 'first_byte_timeout', silent],
    ['first-byte', 'first_byte_timeout', (_call, res) => res.writeHead(200).flushHeaders()],
    ['per-try', 'first_byte_timeout', silent],
    ['idle', 'idle_timeout', half],
    ['total', 'total_timeout', half],
    ['refused', 'connect_refused', silent],
    ['no-name', 'dns', silent],
    ['no-http', 'reset', silent],
    ['tls-untrusted', 'tls', silent],
    ['tls-other-name', 'tls', silent],
  ])('%s: falls over to the other channel and logs %s', async (model, detail, script) => {
    a.answer(script)
    const answer = await send(model)
    expect(answer.status).toBe(200)
    expect(b.calls.length).toBe(1)
    const path = '/v1/chat/completions'
    const failed = expect.objectContaining({ channel: `default/${model}`, path, class: 'transient', detail })
    expect(await attemptsOf(answer)).toEqual([failed, expect.objectContaining({ class: 'ok' })])
    expectError(await send(`${model}-only`), 502, 'upstream_error', null, 'server_error')
  })

  const events = chatEvents('m', 'one two three four five six seven eight nine ten', null)
  const stalled: Script = async (_call, res) => {
    await written(res.writeHead(200, { 'content-type': 'text/event-stream' }), events.slice(0, 3).join(''))
  }
  const dripping: Script = async (_call, res) => {
    res.writeHead(200, { 'content-type': 'text/event-stream' })
    while (!res.destroyed) {
      await written(res, events[2] ?? '')
      await new Promise((resolve) => setTimeout(resolve, 50))
    }
  }
  it.each([
    ['idle', 'idle_timeout', stalled],
    ['total', 'total_timeout', dripping],
  ])('%s: ends a running stream with an error event', async (model, detail, script) => {
    a.answer(script)
    const answer = await send(model, { stream: true })
    expect(JSON.parse(eventData(answer.text).at(-1) ?? '').error.code).toBe('upstream_error')
    expect(eventData(answer.text)).toContain(events[2]?.slice('data: '.length).trim())
    expect(b.calls.length).toBe(0)
    expect(await attemptsOf(answer)).toEqual([
      expect.objectContaining({ class: 'ok' }),
      expect.objectContaining({ class: 'transient', detail }),
    ])
  })

  it('idle: does not cut off a stream that continues', async () => {
    let sent = 0
    a.answer(async (_call, res) => {
      res.writeHead(200, { 'content-type': 'text/event-stream' })
      for (const event of events) {
        await written(res, event)
        sent += 1
        await new Promise((resolve) => setTimeout(resolve, 50))
      }
      res.end('data: [DONE]\n\n')
    })
    const { text } = await send('idle', { stream: true })
    expect(sent).toBe(events.length)
    expect(text).toBe(`${events.join('')}data: [DONE]\n\n`)
  })
})

describe('TLS', () => {
  it.each(['tls', 'tls-name'])('%s: trusts the channel’s CA', async (model) => {
    expect((await send(`${model}-only`)).status).toBe(200)
    expect(secured.calls.length).toBe(1)
  })
})
