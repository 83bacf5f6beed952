import { IncomingMessage } from 'node:http'
import { Socket } from 'node:net'
import { expect, onTestFinished, test, vi } from 'vitest'
import { GatewayError } from '../../errors.ts'
import type { RequestFacts } from '../../telemetry/metrics.ts'
import type { RequestRecord } from '../../telemetry/request-log.ts'
import { testMetrics } from '../../telemetry/testing.ts'
import { ClientGone } from './client.ts'
import type { Arrival, RequestContext } from './context.ts'
import { Journal } from './journal.ts'

/** A journal, with its lines and metrics. */
function testJournal(metrics = testMetrics()) {
  const lines: RequestRecord[] = []
  const facts: RequestFacts[] = []
  const journal = new Journal(
    { write: (line) => void lines.push(line), errorAnswer: () => ({}) },
    {
      finished(fact) {
        facts.push(fact)
        metrics.finished(fact)
      },
      attempt: (channel, outcome) => metrics.attempt(channel, outcome),
      unpaid: (channel) => metrics.unpaid(channel),
    },
  )
  return { journal, lines, facts, metrics }
}

function arrival(changes: Partial<Arrival> = {}): Arrival {
  return {
    endpoint: 'chat',
    requestId: 'req_1',
    req: new IncomingMessage(new Socket()),
    control: new AbortController(),
    status: () => 0,
    ...changes,
  }
}

test('no text of a client becomes a metric', async () => {
  const { journal, metrics } = testJournal()
  const req = new IncomingMessage(new Socket())
  req.headers = { traceparent: 'CLIENT-TEXT', 'user-agent': 'CLIENT-TEXT' }
  const error = new GatewayError('upstream_error', 'No upstream serves this model.', { param: 'CLIENT-TEXT' })
  const work = async ({ record }: RequestContext) => {
    Object.assign(record, { model: 'CLIENT-TEXT', key: 'CLIENT-TEXT' })
    throw error
  }
  await expect(journal.run(arrival({ req }), work)).rejects.toBe(error)
  const text = await metrics.registry.metrics()
  expect(text).not.toContain('CLIENT-TEXT')
  expect(text).toContain('gen_ai_request_model="unknown"')
  expect(text).toContain(
    'sluice_requests_total{endpoint="chat",status="502",code="upstream_error",domain="upstream"} 1',
  )
})

test.each([
  [`00-${'a'.repeat(32)}-${'b'.repeat(16)}-01`, true],
  [`00-${'A'.repeat(32)}-${'b'.repeat(16)}-01`, false],
  [`00-${'a'.repeat(32)}-${'b'.repeat(16)}-01\n`, false],
  ['anything else', false],
])('a traceparent is logged if it is valid: %j', async (traceparent, kept) => {
  const { journal, lines } = testJournal()
  const req = new IncomingMessage(new Socket())
  req.headers = { traceparent }
  await journal.run(arrival({ req }), async () => undefined)
  expect(lines).toMatchObject([{ requestId: 'req_1', status: 499, endpoint: 'chat' }])
  expect(lines[0]?.traceparent).toBe(kept ? traceparent : undefined)
})

test.each<[string, number, string | undefined, object | undefined]>([
  ['forwarded from an upstream', 429, 'finished', undefined],
  ['given up', 499, 'client_gone', { code: 'client_gone', domain: 'caller' }],
  ['good', 200, undefined, undefined],
])('a status without an error of the gateway, %s', async (_name, status, outcome, error) => {
  const { journal, facts } = testJournal()
  await journal.run(arrival({ endpoint: 'relay', status: () => status }), async ({ record }) => {
    if (outcome !== undefined) record.outcome = outcome
  })
  expect(facts[0]?.error).toEqual(error)
})

test('a client that left is logged without an error to render', async () => {
  const { journal, lines, facts } = testJournal()
  await journal.run(arrival(), async () => {
    throw new ClientGone()
  })
  expect(lines).toMatchObject([{ status: 499, outcome: 'client_gone' }])
  expect(facts).toMatchObject([{ error: { code: 'client_gone' } }])
})

test('an error that was sent as an event is logged, but not thrown', async () => {
  const { journal, lines } = testJournal()
  await journal.run(arrival({ status: () => 200 }), async (ctx) => {
    ctx.error = new GatewayError('upstream_error', 'The upstream ended its answer early.')
  })
  expect(lines).toMatchObject([{ status: 200, code: 'upstream_error' }])
})

test('the resources of a request are released at its end, even after an error', async () => {
  const { journal } = testJournal()
  const released: string[] = []
  const work = async (ctx: RequestContext) => {
    ctx.onEnd(() => released.push('first'))
    ctx.onEnd(() => released.push('second'))
    throw new GatewayError('overloaded', 'No.')
  }
  await expect(journal.run(arrival(), work)).rejects.toMatchObject({ code: 'overloaded' })
  expect(released).toEqual(['first', 'second'])
})

test('if only failures are logged, a success writes no line', async () => {
  const { journal, lines } = testJournal()
  const quiet = arrival({ failuresOnly: true })
  await journal.run(quiet, async () => undefined)
  expect(lines).toEqual([])
  await expect(journal.run(quiet, () => Promise.reject(new Error('a fault')))).rejects.toMatchObject({
    code: 'internal_error',
  })
  expect(lines).toMatchObject([{ code: 'internal_error' }])
})

test('the time to read the body does not count as overhead; the log has both', async () => {
  const { journal, lines } = testJournal()
  let now = 1_000
  const pass = (ms: number) => {
    now += ms
  }
  const clock = vi.spyOn(performance, 'now').mockImplementation(() => now)
  onTestFinished(() => clock.mockRestore())
  await journal.run(arrival(), async (ctx) => {
    pass(1)
    const from = now
    pass(20)
    ctx.bodyRead(from)
    pass(2)
    await ctx.stage('deliver', () => pass(100))
  })
  const { body, overhead } = lines[0]?.ms ?? {}
  expect([body, overhead]).toEqual([20, 3])
})
