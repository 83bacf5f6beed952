/**
 * How many promises, timers and immediates a request costs. Each is small; a hundred of them were most of the time of a
 * request. A bound that is exceeded means that a stage waits for something that is there already.
 */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type AsyncCounter, countAsync } from '../harness/async-count.ts'
import { type RunningGateway, startGateway } from '../harness/gateway.ts'
import { call, jsonHeaders } from '../harness/http.ts'
import { account, apiKey, channel, route } from '../harness/resources.ts'
import { chatAnswer, type ScriptedUpstream, startUpstream } from '../harness/upstream.ts'

const KEY = 'sk-async-0123456789abcdef'
const REQUESTS = 200
const EVENTS = 300

let upstream: ScriptedUpstream
let gateway: RunningGateway
let counter: AsyncCounter

beforeAll(async () => {
  upstream = await startUpstream()
  counter = countAsync()
  gateway = await startGateway(
    {
      'all.yaml': [
        channel('up', upstream.baseURL),
        route('priced', 'priced', ['up'], { price: { input: '1', output: '2' } }),
        account('payer', '1000'),
        apiKey('metered', KEY, { accountRef: { name: 'payer' } }),
      ].join(''),
    },
    counter.env,
  )
})
afterAll(async () => {
  await gateway?.stop()
  await upstream?.close()
  counter?.remove()
})

async function ask(stream: boolean): Promise<string> {
  const messages = [{ role: 'user', content: 'Hello' }]
  const body = JSON.stringify({ model: 'priced', messages, max_tokens: 100, stream })
  const answer = await call(`${gateway.base}/v1/chat/completions`, { headers: jsonHeaders(KEY), body })
  expect(answer.status).toBe(200)
  return answer.text
}

/** What one of `n` requests makes, by type. */
async function costOf(n: number, stream: boolean): Promise<Record<string, number>> {
  await ask(stream)
  const counts = await counter.during(gateway, async () => {
    for (let i = 0; i < n; i++) await ask(stream)
  })
  return Object.fromEntries(Object.entries(counts).map(([type, count]) => [type, count / n]))
}

test('a metered request in JSON that passes as bytes', async () => {
  upstream.answer(chatAnswer())
  const cost = await costOf(REQUESTS, false)
  // Something is counted at all.
  expect(cost.PROMISE).toBeGreaterThan(5)
  expect(cost.PROMISE).toBeLessThan(21)
  expect(cost.Timeout).toBeLessThan(4)
  // Four fewer than through the stream of the request's body.
  expect(cost.TickObject).toBeLessThan(10)
  // Two of them wait for the end of a turn; all requests of that turn share them.
  expect(cost.Immediate ?? 0).toBeLessThan(5)
})

test('an event of a stream that passes as bytes costs no promise and no timer', async () => {
  const chunk = (delta: object, more = {}) =>
    `data: ${JSON.stringify({ object: 'chat.completion.chunk', choices: [{ index: 0, delta, ...more }] })}\n\n`
  upstream.answer(async (_call, res) => {
    res.writeHead(200, { 'content-type': 'text/event-stream' })
    for (let i = 0; i < EVENTS; i++) {
      res.write(chunk({ content: 'word ' }))
      // So that each event arrives in a read of its own.
      await new Promise((resolve) => setImmediate(resolve))
    }
    res.end(
      `${chunk({}, { finish_reason: 'stop' })}data: {"object":"chat.completion.chunk","choices":[],"usage":{"prompt_tokens":3,"completion_tokens":${EVENTS}}}\n\ndata: [DONE]\n\n`,
    )
  })
  expect((await ask(true)).match(/word /g)).toHaveLength(EVENTS)
  const cost = await costOf(20, true)
  expect(cost.PROMISE).toBeGreaterThan(5)
  expect(cost.PROMISE).toBeLessThan(40)
  expect(cost.Timeout).toBeLessThan(10)
})
