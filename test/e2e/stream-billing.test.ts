/** Billing of interrupted streams. */
import { once } from 'node:events'
import { type AddressInfo, createServer, type Socket } from 'node:net'
import { setTimeout as pause } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { bearer, chat } from '../harness/chat-client.ts'
import { type FollowedAnswer, follow } from '../harness/follow.ts'
import { type RunningGateway, startGateway, until } from '../harness/gateway.ts'
import { chatBody, eventData, jsonHeaders } from '../harness/http.ts'
import { balanceOf, lineOf, logged, metric, nanos } from '../harness/ledger.ts'
import { account, apiKey, channel, route } from '../harness/resources.ts'
import { chatEvents, type Script, type ScriptedUpstream, startUpstream } from '../harness/upstream.ts'

const CREDIT = '10'
const KEEPALIVE_MS = 60
const keyOf = (name: string) => `sk-streams-of-the-account-${name}`

/** 400 bytes, an estimated 100 tokens: 100 micro-dollars. */
const MESSAGES = [{ role: 'user', content: 'p'.repeat(400) }]
/** Ten deltas of five bytes, an estimated 13 tokens: 52 micro-dollars. */
const CONTENT = 'word '.repeat(10)
const PRICE = { input: '1.00', output: '4.00' }
const INPUT_COST = nanos('0.0001')
const OUTPUT_COST = nanos('0.000052')

/** Estimates learn from finished streams of a route, so each test has its own route. */
const ROUTES = [
  'before',
  'before-json',
  'early-json',
  'early-stream',
  'middle',
  'cut',
  'reset',
  'failed',
  'finished',
  'left-last',
]

let upstream: ScriptedUpstream
let gateway: RunningGateway
/** Takes the beginning of a request, and nothing more. */
const reluctant = createServer((socket) => {
  socket.on('error', () => undefined).once('data', () => void socket.pause())
})

beforeAll(async () => {
  upstream = await startUpstream()
  await once(reluctant.listen(0, '127.0.0.1'), 'listening')
  const { port } = reluctant.address() as AddressInfo
  gateway = await startGateway(
    {
      'all.yaml':
        channel('upstream', upstream.baseURL) +
        channel('reluctant', `http://127.0.0.1:${port}/v1`) +
        route('unread', 'unread', ['reluctant'], { price: PRICE }) +
        ROUTES.map((name) => route(name, name, ['upstream'], { price: PRICE, retry: { attempts: 1 } })).join(
          '',
        ) +
        ['endless', 'endless-burst']
          .map((name) =>
            route(name, name, ['upstream'], { price: { input: '0', output: '1000' }, maxOutputTokens: 10 }),
          )
          .join('') +
        [...ROUTES, 'endless', 'endless-burst', 'capped', 'unread']
          .map((name) => apiKey(name, keyOf(name), { accountRef: { name } }) + account(name, creditOf(name)))
          .join(''),
    },
    { SLUICE_STREAM_KEEPALIVE: `${KEEPALIVE_MS}ms` },
  )
})

const LARGE_CREDIT = '100'
const creditOf = (name: string) =>
  name === 'unread' ? LARGE_CREDIT : name.startsWith('endless') ? '0.05' : CREDIT

afterAll(async () => {
  await gateway?.stop()
  await upstream?.close()
  reluctant.close()
})

const stream = (model: string, more: object = {}, who = model) =>
  follow(`${gateway.base}/v1/chat/completions`, {
    headers: jsonHeaders(keyOf(who)),
    body: chatBody(model, { messages: MESSAGES, stream: true, ...more }),
  })

/** Sends the events of CONTENT without the last one, then runs `next`. */
const beginsThen =
  (next: Script): Script =>
  async (call, res) => {
    res.writeHead(200, { 'content-type': 'text/event-stream' })
    for (const event of chatEvents('any', CONTENT, null).slice(0, -1)) res.write(event)
    await next(call, res)
  }

const never: Script = () => new Promise(() => undefined)

const deltas = (text: string) => text.split('"content":"word "').length - 1
const receivedAll = (answer: FollowedAnswer) => until(() => deltas(answer.text()) === 10, 'ten deltas')
const upstreamClosed = () => until(() => upstream.calls.at(-1)?.aborted, 'the upstream call to be closed')

async function charged(name: string, answer: FollowedAnswer) {
  const { settled, reason, outcome } = await lineOf(gateway, answer)
  const { balance, held } = await balanceOf(gateway, name)
  expect(held).toBe(0)
  expect(nanos(CREDIT) - balance).toBe(nanos(settled ?? '0'))
  return { settled: nanos(settled ?? '0'), reason, outcome }
}

/** Asserts that a stream ended with an error event. */
function expectErrorEnd(text: string, code: string) {
  expect(text).not.toContain('[DONE]')
  expect(JSON.parse(eventData(text).at(-1) ?? '')).toMatchObject({ error: { code } })
}

describe('a client that leaves', () => {
  it('before the first delta pays for its prompt', async () => {
    let flushed = 0
    upstream.answer((call, res) => {
      res.writeHead(200, { 'content-type': 'text/event-stream' })
      res.flushHeaders()
      flushed = performance.now()
      return never(call, res)
    })
    const answer = await stream('before')
    // A keep-alive well after the upstream's headers shows that the gateway has received them.
    const keepAlives = () => answer.text().split(': ').length
    await until(() => flushed > 0, 'the upstream to accept')
    const then = keepAlives()
    await until(() => keepAlives() >= then + 2, 'two more keep-alives')
    expect(eventData(answer.text())).toEqual([])
    answer.leave()
    await upstreamClosed()
    expect(await charged('before', answer)).toEqual({
      settled: INPUT_COST,
      reason: 'input_only',
      outcome: 'client_gone',
    })
  })

  it('in mid-stream pays for the delivered output', async () => {
    upstream.answer(beginsThen(never))
    const answer = await stream('middle')
    await receivedAll(answer)
    answer.leave()
    await upstreamClosed()
    expect(await charged('middle', answer)).toEqual({
      settled: INPUT_COST + OUTPUT_COST,
      reason: 'estimate',
      outcome: 'client_gone',
    })
  })

  it.each([
    ['a JSON answer', {}],
    ['a stream', { stream: true }],
  ])('before the upstream answers with %s pays for its prompt', async (what, more) => {
    const name = what === 'a stream' ? 'early-stream' : 'early-json'
    let called = false
    upstream.answer((call, res) => {
      called = true
      return never(call, res)
    })
    const leaving = new AbortController()
    const answer = follow(`${gateway.base}/v1/chat/completions`, {
      headers: jsonHeaders(keyOf(name)),
      body: chatBody(name, { messages: MESSAGES, ...more }),
      signal: leaving.signal,
    })
    await until(() => called, 'the upstream call')
    expect((await balanceOf(gateway, name)).held).toBeGreaterThan(0)
    leaving.abort()
    await answer.catch(() => undefined)
    await upstreamClosed()
    const line = await until(() => logged(gateway).find(({ account }) => account === name), 'the log line')
    expect(line).toMatchObject({ reason: 'input_only', settled: '0.0001', outcome: 'client_gone' })
    await until(async () => (await balanceOf(gateway, name)).held === 0, 'the hold to be released')
    expect((await balanceOf(gateway, name)).balance).toBe(nanos(CREDIT) - INPUT_COST)
  })

  it('while the upstream still reads the request pays nothing', async () => {
    // More than the socket buffers hold.
    const large = 'x'.repeat(33_554_432)
    const connected = once(reluctant, 'connection')
    const leaving = new AbortController()
    const answer = follow(`${gateway.base}/v1/chat/completions`, {
      headers: jsonHeaders(keyOf('unread')),
      body: chatBody('unread', { messages: [{ role: 'user', content: large }], max_tokens: 1 }),
      signal: leaving.signal,
    })
    answer.catch(() => undefined)
    const [socket] = (await connected) as [Socket]
    await until(() => socket.bytesRead > 0 && socket.isPaused(), 'the beginning of the request')
    leaving.abort()
    await expect(answer).rejects.toThrow()
    await until(async () => (await balanceOf(gateway, 'unread')).held === 0, 'the hold to be released')
    expect((await balanceOf(gateway, 'unread')).balance).toBe(nanos(LARGE_CREDIT))
  })

  it('during a JSON answer pays for its prompt', async () => {
    // More than the socket buffers hold, so `drain` means that the gateway reads the answer.
    const read = Promise.withResolvers<void>()
    upstream.answer((call, res) => {
      res.writeHead(200, { 'content-type': 'application/json' })
      res.write(' '.repeat(16_777_216))
      res.once('drain', read.resolve)
      return never(call, res)
    })
    const leaving = new AbortController()
    const answer = follow(`${gateway.base}/v1/chat/completions`, {
      headers: jsonHeaders(keyOf('before-json')),
      body: chatBody('before-json', { messages: MESSAGES }),
      signal: leaving.signal,
    })
    await read.promise
    leaving.abort()
    await expect(answer).rejects.toThrow()
    await upstreamClosed()
    const line = await until(
      () => logged(gateway).find((entry) => entry.account === 'before-json'),
      'the request log line',
    )
    expect(line).toMatchObject({ reason: 'input_only', settled: '0.0001', outcome: 'client_gone' })
    expect((await balanceOf(gateway, 'before-json')).balance).toBe(nanos(CREDIT) - INPUT_COST)
  })
})

describe('an upstream that breaks off', () => {
  it.each<[string, Script]>([
    ['cut', (_, res) => void res.end()],
    ['reset', (_, res) => void res.socket?.resetAndDestroy()],
  ])('%s: the client pays for the delivered output and gets an error', async (name, breakOff) => {
    const seen = Promise.withResolvers<void>()
    upstream.answer(
      beginsThen(async (call, res) => {
        await seen.promise
        await breakOff(call, res)
      }),
    )
    const answer = await stream(name)
    await receivedAll(answer)
    seen.resolve()
    expect(await answer.ended).toBe(true)
    expectErrorEnd(answer.text(), 'upstream_error')
    expect(await charged(name, answer)).toEqual({
      settled: INPUT_COST + OUTPUT_COST,
      reason: 'estimate',
      outcome: 'upstream_failed',
    })
  })

  it('before the answer: the client pays nothing', async () => {
    upstream.answer((_, res) => void res.socket?.resetAndDestroy())
    const answer = await stream('failed')
    await answer.ended
    expect(answer.status).toBe(502)
    expect(await charged('failed', answer)).toMatchObject({ settled: 0 })
  })
})

describe('a stream that finishes', () => {
  const usage = { prompt_tokens: 7, completion_tokens: 3, total_tokens: 10 }

  it.each([true, false])('is charged by usage, requested by the client or not (%s)', async (requested) => {
    const before = (await balanceOf(gateway, 'finished')).balance
    upstream.answer((_, res) => {
      res.writeHead(200, { 'content-type': 'text/event-stream' })
      res.end(`${chatEvents('any', CONTENT, usage).join('')}data: [DONE]\n\n`)
    })
    const answer = await stream('finished', requested ? { stream_options: { include_usage: true } } : {})
    expect(await answer.ended).toBe(true)
    expect(answer.text().includes('"usage"')).toBe(requested)
    expect(await lineOf(gateway, answer)).toMatchObject({ reason: 'usage', settled: '0.000019' })
    expect((await balanceOf(gateway, 'finished')).balance).toBe(before - nanos('0.000019'))
  })

  it('is charged by usage when the client leaves after the last event', async () => {
    upstream.answer((call, res) => {
      res.writeHead(200, { 'content-type': 'text/event-stream' })
      res.write(`${chatEvents('any', CONTENT, usage).join('')}data: [DONE]\n\n`)
      return never(call, res)
    })
    const answer = await stream('left-last')
    await until(() => answer.text().includes('[DONE]'), 'the last event')
    answer.leave()
    expect(await charged('left-last', answer)).toMatchObject({ settled: nanos('0.000019'), reason: 'usage' })
  })
})

describe('a balance that runs out in mid-stream', () => {
  /** Sends words until the connection is closed, `waitMs` apart; 0: one turn of the event loop. */
  const endless =
    (waitMs: number): Script =>
    async (_, res) => {
      res.writeHead(200, { 'content-type': 'text/event-stream' })
      const [first = '', word = ''] = chatEvents('any', 'word', null)
      res.write(first)
      while (!res.destroyed) {
        res.write(word)
        await pause(waitMs)
      }
    }

  it.each([
    ['endless', 1],
    ['endless-burst', 0],
  ])('%s: ends the stream with an error event, with limited overspend', async (name, waitMs) => {
    upstream.answer(endless(waitMs))
    const answer = await stream(name)
    expect(await answer.ended).toBe(true)
    expect(answer.status).toBe(200)
    expectErrorEnd(answer.text(), 'insufficient_balance')
    await upstreamClosed()
    const { settled, reason, outcome } = await lineOf(gateway, answer)
    expect({ reason, outcome }).toEqual({ reason: 'estimate', outcome: 'balance_exhausted' })
    // The hold was 10 tokens; at most a quantum of 2,048 more is promised. A token costs a tenth of a cent.
    const tokens = answer.text().split('"content":"word"').length - 1
    expect(nanos(settled ?? '')).toBeGreaterThanOrEqual(tokens * nanos('0.001'))
    expect(nanos(settled ?? '')).toBeLessThan((10 + 2_048) * nanos('0.001'))
    expect((await balanceOf(gateway, name)).balance).toBe(nanos('0.05') - nanos(settled ?? ''))
    const next = await chat(gateway.base, bearer(keyOf(name)), chatBody(name))
    expect(next.status).toBe(402)
  })

  it('extends the hold of a stream with sufficient funds', async () => {
    upstream.answer(async (_, res) => {
      res.writeHead(200, { 'content-type': 'text/event-stream' })
      for (const event of chatEvents('any', 'word '.repeat(400).trim(), null)) {
        res.write(event)
        await pause(0)
      }
      res.end('data: [DONE]\n\n')
    })
    const answer = await stream('endless', {}, 'capped')
    expect(await answer.ended).toBe(true)
    expect(answer.text()).toContain('[DONE]')
    expect(nanos((await lineOf(gateway, answer)).hold ?? '')).toBeGreaterThan(nanos('0.4'))
  })
})

it('leaves no hold behind', async () => {
  await until(async () => (await metric(gateway, 'sluice_holds')) === 0, 'all holds to be settled')
})
