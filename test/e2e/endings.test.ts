/** However a request ends, it is charged what its upstream bills: exactly where the usage was seen, else by an estimate. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { connect } from '../../proxy/socket/testing.ts'
import {
  type BillingUpstream,
  INPUT_TOKENS,
  OUTPUT_TOKENS,
  promptOf,
  REASONING_TOKENS,
  type Stage,
  startBillingUpstream,
  type UpstreamBill,
} from '../harness/billing-upstream.ts'
import { follow } from '../harness/follow.ts'
import { type RunningGateway, startGateway, until } from '../harness/gateway.ts'
import { call, jsonHeaders } from '../harness/http.ts'
import { balanceOf, logged, nanos } from '../harness/ledger.ts'
import { account, apiKey, channel, route } from '../harness/resources.ts'

const KEY = 'sk-endings-0123456789abcdef'
/** A micro-dollar for a token of the prompt, four for one of the answer. */
const PRICE = { input: '1', output: '4' }
const costOf = ({ input, output }: UpstreamBill) => input * 1_000 + output * 4_000
const WHOLE = costOf({ input: INPUT_TOKENS, output: OUTPUT_TOKENS })

const TYPES = { chat: 'chat_completion', responses: 'responses', messages: 'messages' } as const
type Dialect = keyof typeof TYPES
const DIALECTS = Object.keys(TYPES) as Dialect[]
const POLICIES = ['abort', 'drain'] as const
type Policy = (typeof POLICIES)[number]

let upstream: BillingUpstream
let gateway: RunningGateway

const PATHS = { chat: '/v1/chat/completions', responses: '/v1/responses', messages: '/v1/messages' }

function bodyOf(client: Dialect, model: string, id: string, stream: boolean): string {
  const messages = [{ role: 'user', content: promptOf(id) }]
  const own = {
    chat: { messages, max_completion_tokens: 5_000 },
    responses: { input: messages, max_output_tokens: 5_000 },
    messages: { messages, max_tokens: 5_000 },
  }
  return JSON.stringify({ model, ...own[client], ...(stream && { stream }) })
}

const modelOf = (to: Dialect, policy: Policy) => `${to}-${policy}`
let count = 0
const newId = () => `n${count++}`

beforeAll(async () => {
  upstream = await startBillingUpstream()
  const channels = DIALECTS.flatMap((to) =>
    POLICIES.map((policy) => {
      const name = modelOf(to, policy)
      const baseURL = to === 'messages' ? upstream.origin : `${upstream.origin}/v1`
      const more = { type: TYPES[to], profile: to === 'messages' ? 'anthropic' : 'openai-reasoning' }
      const onDisconnect = policy === 'drain' ? { onDisconnect: 'Drain' } : {}
      return (
        channel(name, baseURL, { ...more, ...onDisconnect }) +
        route(name, name, [name], { price: PRICE, retry: { attempts: 1 } })
      )
    }),
  )
  gateway = await startGateway({
    'all.yaml': channels.join('') + apiKey('k', KEY, { accountRef: { name: 'a' } }) + account('a', '100'),
  })
  // Estimates learn from answers that were read to their end.
  for (const to of DIALECTS)
    for (let i = 0; i < 10; i++) await ask(to, modelOf(to, 'abort'), newId(), true).then((a) => a.ended)
  await until(() => logged(gateway).length === 10 * DIALECTS.length, 'the request log')
})

afterAll(async () => {
  const { held, balance } = await balanceOf(gateway, 'a')
  await gateway?.stop()
  await upstream?.close()
  // All that the log names was taken from the account, and nothing else.
  const settled = logged(gateway).map(({ settled = '0' }) => nanos(settled))
  expect([held, nanos('100') - balance]).toEqual([0, settled.reduce((sum, one) => sum + one, 0)])
})

function ask(client: Dialect, model: string, id: string, stream: boolean) {
  const headers = { ...jsonHeaders(KEY), 'x-request-id': id }
  return follow(`${gateway.base}${PATHS[client]}`, { headers, body: bodyOf(client, model, id, stream) })
}

/** The log line of the n-th request from here on. */
async function settledAfter(lines: number) {
  const line = await until(() => logged(gateway)[lines], 'the request log line')
  return { settled: nanos(line.settled ?? '0'), reason: line.reason, outcome: line.outcome }
}

const cases = DIALECTS.flatMap((client) => DIALECTS.map((to) => ({ client, to })))

describe.each(cases)('$client to $to', ({ client, to }) => {
  test.each(['JSON', 'a stream'])(
    '%s that is read to its end costs what the upstream bills',
    async (form) => {
      const before = logged(gateway).length
      const answer = await ask(client, modelOf(to, 'abort'), newId(), form !== 'JSON')
      expect([answer.status, await answer.ended]).toEqual([200, true])
      expect(await settledAfter(before)).toEqual({ settled: WHOLE, reason: 'usage', outcome: 'finished' })
    },
  )

  async function leave(policy: Policy, stage: Stage, heard: (text: string) => boolean) {
    const before = logged(gateway).length
    const id = newId()
    upstream.stopAt(id, stage)
    const answer = await ask(client, modelOf(to, policy), id, true)
    await upstream.stopped(id)
    await until(() => heard(answer.text()), 'the client to have read so far')
    answer.leave()
    return { id, before }
  }
  const words = (count: number) => (text: string) => text.split('abc ').length > count

  test('a stream that is left is charged by an estimate where the upstream is cut off', async () => {
    const { id, before } = await leave('abort', 'text', words(20))
    await upstream.over(id)
    const { settled, reason, outcome } = await settledAfter(before)
    expect([reason, outcome]).toEqual(['estimate', 'client_gone'])
    const bill = costOf(upstream.bill(id) as UpstreamBill)
    expect(bill).toBeLessThan(WHOLE)
    expect(Math.abs(settled - bill) / bill).toBeLessThan(0.15)
  })

  test('a stream that is left while the upstream thinks is not free', async () => {
    const { id, before } = await leave('abort', 'thinking', () => true)
    await upstream.over(id)
    const { settled, outcome } = await settledAfter(before)
    expect(outcome).toBe('client_gone')
    expect(settled).toBeGreaterThanOrEqual(INPUT_TOKENS * 1_000)
    expect(settled).toBeLessThanOrEqual(costOf({ input: INPUT_TOKENS, output: REASONING_TOKENS + 20 }))
  })

  test.each(['thinking', 'text'] as const)(
    'a stream that is left while it is %s costs what the upstream bills, if it is drained',
    async (stage) => {
      const { id, before } = await leave('drain', stage, stage === 'text' ? words(20) : () => true)
      await until(async () => (await draining()) === 1, 'the drain')
      upstream.release(id)
      expect(await settledAfter(before)).toEqual({ settled: WHOLE, reason: 'usage', outcome: 'client_gone' })
    },
  )

  test('JSON whose client leaves is charged its prompt; drained, all that the upstream bills', async () => {
    for (const policy of POLICIES) {
      const before = logged(gateway).length
      const id = newId()
      upstream.stopAt(id, 'head')
      const body = bodyOf(client, modelOf(to, policy), id, false)
      const leaving = new AbortController()
      const request = fetch(`${gateway.base}${PATHS[client]}`, {
        method: 'POST',
        headers: { authorization: `Bearer ${KEY}`, 'content-type': 'application/json' },
        body,
        signal: leaving.signal,
      }).catch(() => undefined)
      await upstream.stopped(id)
      leaving.abort()
      await request
      if (policy === 'abort') await upstream.over(id)
      else await until(async () => (await draining()) === 1, 'the drain')
      upstream.release(id)
      const exact = { settled: WHOLE, reason: 'usage', outcome: 'client_gone' }
      const prompt = { settled: INPUT_TOKENS * 1_000, reason: 'input_only', outcome: 'client_gone' }
      expect(await settledAfter(before)).toEqual(policy === 'drain' ? exact : prompt)
    }
  })
})

test.each(['abort', 'drain'] as const)(
  'a client that leaves at the finish reason pays for the hidden reasoning (%s)',
  async (policy) => {
    const before = logged(gateway).length
    const id = newId()
    upstream.stopAt(id, 'end')
    const answer = await ask('chat', modelOf('chat', policy), id, true)
    await upstream.stopped(id)
    await until(() => answer.text().includes('"finish_reason":"stop"'), 'the finish reason')
    answer.leave()
    await until(async () => (await draining()) === 1, 'the drain')
    upstream.release(id)
    expect(await settledAfter(before)).toEqual({ settled: WHOLE, reason: 'usage', outcome: 'finished' })
  },
)

test('a finished answer whose usage never comes is charged what was learned', async () => {
  const before = logged(gateway).length
  const id = newId()
  upstream.stopAt(id, 'end')
  const answer = await ask('chat', modelOf('chat', 'abort'), id, true)
  await upstream.stopped(id)
  await until(() => answer.text().includes('"finish_reason":"stop"'), 'the finish reason')
  answer.leave()
  const { settled, reason, outcome } = await settledAfter(before)
  expect([reason, outcome]).toEqual(['estimate', 'finished'])
  expect(Math.abs(settled - WHOLE) / WHOLE).toBeLessThan(0.15)
  expect(await drains('timed_out')).toBe(1)
})

test.each(['chat', 'messages', 'responses'] as const)(
  'a socket that closes is drained, with a %s upstream',
  async (to) => {
    const before = logged(gateway).length
    const id = newId()
    upstream.stopAt(id, 'text')
    const url = `${gateway.base.replace('http', 'ws')}/v1/responses`
    const socket = await connect(url, { headers: { authorization: `Bearer ${KEY}` } })
    const body = JSON.parse(bodyOf('responses', modelOf(to, 'drain'), id, false)) as object
    socket.ws.send(JSON.stringify({ type: 'response.create', ...body }))
    await upstream.stopped(id)
    socket.ws.terminate()
    await until(async () => (await draining()) === 1, 'the drain')
    upstream.release(id)
    expect(await settledAfter(before)).toEqual({ settled: WHOLE, reason: 'usage', outcome: 'client_gone' })
  },
)

const scrape = async () => (await call(`${gateway.admin}/metrics`)).text
const draining = async () => Number(/^sluice_calls_draining (\d+)$/m.exec(await scrape())?.[1])
const drains = async (result: string) =>
  Number(
    new RegExp(`^sluice_drains_total\\{result="${result}"\\} (\\d+)$`, 'm').exec(await scrape())?.[1] ?? 0,
  )
