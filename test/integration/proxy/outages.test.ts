/** Outages of a store that keeps its time, and a store that is emptied: every cost is posted once. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { until } from '../../harness/gateway.ts'
import { call } from '../../harness/http.ts'
import { createClock, IMPATIENT } from '../../harness/redis.ts'
import { chatEvents } from '../../harness/upstream.ts'
import {
  ACCOUNT,
  ask,
  balance,
  fund,
  METERED,
  metric,
  startWorld,
  type TestProxy,
  type World,
} from './world.ts'

const FUNDS = 1_000_000_000
const WORDS = 100
const TOKENS = { prompt_tokens: 0, completion_tokens: 5 * WORDS, total_tokens: 5 * WORDS }
/** A micro-dollar a token, in nano-dollars: much more than was seen when the connection was cut. */
const COST = 1_000 * TOKENS.completion_tokens

const clock = createClock()
let world: World
let proxy: TestProxy
/** Finishes the streams that are open. */
let finish: () => void

beforeAll(async () => {
  world = await startWorld({ clock, funds: FUNDS })
  proxy = await world.startProxy({ env: IMPATIENT })
  let gate = Promise.withResolvers<void>()
  world.upstream.answer(async (_, res) => {
    const { promise } = gate
    const [first = '', second = '', ...rest] = chatEvents('words', 'word '.repeat(WORDS), TOKENS)
    res.writeHead(200, { 'content-type': 'text/event-stream' })
    res.write(first + second)
    await promise
    res.end(`${rest.join('')}data: [DONE]\n\n`)
  })
  finish = () => {
    gate.resolve()
    gate = Promise.withResolvers()
  }
})
afterAll(async () => {
  await world.stop()
  clock.remove()
})

/** A whole stream. Asks again after a 503, as clients do: a busy machine stops Redis for longer than its time-out. */
async function stream() {
  for (;;) {
    const answer = await ask(proxy, METERED, 'words', { stream: true, max_tokens: 2_000 })
    if (answer.status !== 503) return answer
  }
}

/** Streams that are held and in the middle of their answers. */
async function openStreams(count: number) {
  const { length } = world.upstream.calls
  const answers = Array.from({ length: count }, stream)
  await until(() => world.upstream.calls.length === length + count, 'the streams')
  return answers
}

async function expectWhole(answers: Promise<{ status: number; text: string }>[]): Promise<void> {
  for (const { status, text } of await Promise.all(answers)) {
    expect(status).toBe(200)
    expect(text).toContain('[DONE]')
  }
}

/** Costs that the proxy has given up. */
async function dead(): Promise<string[]> {
  const { text } = await call(`${proxy.admin}/metrics`)
  return text.split('\n').filter((line) => /^sluice_settles_dead_lettered_total\S* [1-9]/.test(line))
}
const waiting = () => metric(proxy, 'sluice_settle_queue')

describe.each([1, 16, 60])('an outage of %i minutes', (minutes) => {
  test.each(['expired when it is over', 'not looked at'])('holds that are %s', async (when) => {
    const before = (await balance(world)).posted
    const early = await openStreams(3)
    const late = await (async () => {
      world.redis.pause()
      clock.advance(minutes * 60_000)
      finish()
      await expectWhole(early)
      await until(async () => (await waiting()) === 3, 'the settles to wait')
      world.redis.resume()
      if (when.startsWith('expired')) await world.store.ledger.reap(ACCOUNT, 100)
      await until(async () => (await waiting()) === 0, 'the settles')
      return openStreams(2)
    })()
    clock.advance(minutes * 60_000)
    if (when.startsWith('expired')) await world.store.ledger.reap(ACCOUNT, 100)
    finish()
    await expectWhole(late)
    await until(async () => (await balance(world)).held === 0, 'all holds to end')
    expect(await balance(world)).toEqual({ posted: before - 5 * COST, held: 0 })
    expect(await dead()).toEqual([])
  })
})

test('a store that was emptied gets the settles that it has lost, without a lost connection', async () => {
  const streams = await openStreams(4)
  finish()
  await expectWhole(streams)
  await until(async () => (await balance(world)).held === 0, 'the settles')
  await world.redis.command('FLUSHALL')
  // The leader fills it again, with the balances of a checkpoint; here with the money of before all requests.
  await world.lead()
  await fund(world, FUNDS)
  await until(async () => (await balance(world)).posted <= FUNDS - 4 * COST, 'the repeated settles')
  expect(await dead()).toEqual([])
})
