/** A client that leaves after any number of bytes is charged once, and what the upstream made by then. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { z } from 'zod'
import type { Script, UpstreamBill } from '../harness/billing-answers.ts'
import { type BillingUpstream, promptOf, startBillingUpstream } from '../harness/billing-upstream.ts'
import { type RunningGateway, startGateway, until } from '../harness/gateway.ts'
import { jsonHeaders, open } from '../harness/http.ts'
import { balanceOf, logged, metric, nanos } from '../harness/ledger.ts'
import { account, apiKey, channel, route } from '../harness/resources.ts'

const KEY = 'sk-disconnects-0123456789'
const PRICE = { input: '1', output: '4' }
const costOf = ({ input, output }: UpstreamBill) => input * 1_000 + output * 4_000

const APIS = {
  chat: { type: 'chat_completion', path: '/v1/chat/completions', limit: 'max_completion_tokens' },
  messages: { type: 'messages', path: '/v1/messages', limit: 'max_tokens' },
  responses: { type: 'responses', path: '/v1/responses', limit: 'max_output_tokens' },
} as const
type Dialect = keyof typeof APIS
const DIALECTS = Object.keys(APIS) as Dialect[]
const STREAMED = ['plain', 'reasoning', 'tool', 'long', 'failing'] as const satisfies Script[]

/** DISCONNECT_OFFSETS raises the number of places where clients leave, over all cases. */
const OFFSETS = Number(process.env.DISCONNECT_OFFSETS ?? 60)
const OF_A_CASE = Math.ceil(OFFSETS / (DIALECTS.length * STREAMED.length))
/** Answers from which estimates learn. */
const LEARNED = 5

let upstream: BillingUpstream
let gateway: RunningGateway

const modelOf = (to: Dialect, script: Script, policy: string) => `${to}-${script}-${policy}`.toLowerCase()
let count = 0

beforeAll(async () => {
  upstream = await startBillingUpstream()
  const resources = DIALECTS.flatMap((to) => {
    const baseURL = to === 'messages' ? upstream.origin : `${upstream.origin}/v1`
    const of = { type: APIS[to].type, profile: to === 'messages' ? 'anthropic' : 'openai-reasoning' }
    return ['Abort', 'Drain'].flatMap((onDisconnect) => [
      channel(`${to}-${onDisconnect.toLowerCase()}`, baseURL, { ...of, onDisconnect }),
      ...STREAMED.map((script) => {
        const name = modelOf(to, script, onDisconnect)
        return route(name, name, [`${to}-${onDisconnect.toLowerCase()}`], {
          price: PRICE,
          retry: { attempts: 1 },
        })
      }),
    ])
  })
  gateway = await startGateway(
    {
      'all.yaml': resources.join('') + apiKey('k', KEY, { accountRef: { name: 'a' } }) + account('a', '1000'),
    },
    { SLUICE_JOURNAL: 'stdout' },
  )
})

afterAll(async () => {
  await gateway?.stop()
  await upstream?.close()
})

interface Asked {
  client: Dialect
  to: Dialect
  script: Script
  policy: 'Abort' | 'Drain'
  stream: boolean
}

/** Reads at most `most` bytes of the answer, then leaves. */
async function ask({ client, to, script, policy, stream }: Asked, most = Number.POSITIVE_INFINITY) {
  const id = `n${count++}`
  const messages = [{ role: 'user', content: promptOf(id, script) }]
  const { path, limit } = APIS[client]
  const body = JSON.stringify({
    model: modelOf(to, script, policy),
    [client === 'responses' ? 'input' : 'messages']: messages,
    [limit]: 5_000,
    ...(stream && { stream }),
  })
  const res = await open(`${gateway.base}${path}`, { headers: jsonHeaders(KEY), body })
  let bytes = 0
  res.on('data', (chunk: Buffer) => {
    bytes += chunk.length
    if (bytes < most) return
    upstream.halt(id)
    res.destroy()
  })
  res.on('error', () => undefined)
  await new Promise((resolve) => res.once('close', resolve))
  // Whether the gateway reads on is decided before the upstream makes more.
  const isOver = async () => upstream.isOver(id) || (await metric(gateway, 'sluice_calls_draining')) > 0
  await until(isOver, 'the answer to be over, or drained')
  upstream.release(id)
  await upstream.over(id)
  const requestId = res.headers['x-request-id']
  const line = await until(
    () => logged(gateway).find((l) => l.requestId === requestId),
    'the request log line',
  )
  const bill = costOf(upstream.bill(id) as UpstreamBill)
  return {
    status: res.statusCode,
    bytes,
    bill,
    reason: line.reason,
    settled: nanos(line.settled ?? '0'),
    requestId,
  }
}

const entry = z.object({ type: z.string(), ref: z.string().optional(), delta: z.string().optional() })

/** The entries of the ledger that name this request. */
function entriesOf(requestId: unknown) {
  const lines = gateway.output().split('\n')
  const texts = lines.filter((text) => text.startsWith('{') && text.includes('"kind":"ledger"'))
  return texts.map((text) => entry.parse(JSON.parse(text))).filter(({ ref }) => ref === requestId)
}

/** How far each estimated charge was from the bill. */
const errors: number[] = []
const requests: { requestId: unknown; settled: number }[] = []

const cases = DIALECTS.flatMap((client, i) =>
  STREAMED.map((script, j) => ({
    client,
    script,
    other: (i + j) % 3 === 2 ? DIALECTS[(i + 1) % 3] : undefined,
  })),
)

describe.each(cases)('$client, $script', ({ client, script, other }) => {
  test('costs what the upstream made, wherever the client leaves', async () => {
    // The same API for two cases of three; the hub for the third.
    const to = other ?? client
    const isFailing = script === 'failing'
    const of = { client, to, script, policy: 'Abort', stream: true } as const
    let length = 0
    for (let i = 0; i < LEARNED; i++) {
      const answer = await ask(of)
      length = answer.bytes
      expect(answer.status).toBe(200)
      if (!isFailing) expect([answer.reason, answer.settled]).toEqual(['usage', answer.bill])
    }
    for (let i = 0; i < OF_A_CASE; i++) {
      // Of four, one is drained, and one JSON; a JSON answer that fails costs nothing, so it is none of these.
      const stream = isFailing || i % 4 !== 3
      const policy = i % 4 === 1 ? 'Drain' : 'Abort'
      const whole = stream ? length : 400
      const answer = await ask({ ...of, policy, stream }, Math.ceil((whole * (i + 0.5)) / OF_A_CASE))
      const { reason, settled, bill } = answer
      requests.push(answer)
      expect(settled).toBeGreaterThan(0)
      if (!isFailing && (policy === 'Drain' || !stream)) expect(reason).toBe('usage')
      if (reason === 'usage') expect(settled).toBe(bill)
      else errors.push(Math.abs(settled - bill) / bill)
    }
  })
})

test('estimates are within 15 % of the bill in the median, and within 35 % in 95 of 100', () => {
  errors.sort((a, b) => a - b)
  const at = (share: number) => errors[Math.ceil(errors.length * share) - 1]
  expect(errors.length).toBeGreaterThan(OFFSETS / 4)
  expect(at(0.5)).toBeLessThan(0.15)
  expect(at(0.95)).toBeLessThan(0.35)
})

test('each request has one closing entry with its charge, and nothing is held', async () => {
  await until(async () => (await balanceOf(gateway, 'a')).held === 0, 'all holds to be released')
  for (const { requestId, settled } of requests) {
    const entries = await until(
      () => entriesOf(requestId)[0] && entriesOf(requestId),
      'the entry in the journal',
    )
    expect(entries.map(({ type, delta }) => [type, nanos(delta ?? '0')])).toEqual([['settle', -settled]])
  }
})
