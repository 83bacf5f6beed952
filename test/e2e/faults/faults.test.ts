/**
 * Everything that an upstream can do wrong, for all nine pairs of dialects, as JSON and as streams: no fault may look
 * like a complete answer, reveal upstream texts to a client or affect other requests.
 */
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { tryParse } from '../../../proxy/dialects/core/json/value.ts'
import type { View } from '../../conformance/dialects/views.ts'
import { TEXT } from '../../fixtures/faults/upstream-fixture.ts'
import { until } from '../../harness/gateway.ts'
import type { Answer } from '../../harness/http.ts'
import { balanceOf, logged, metric, nanos } from '../../harness/ledger.ts'
import { type Bench, leaksIn, nameOf, PAIRS, type Pair, startBench } from './bench.ts'
import { CUT_OFF } from './cut-off.ts'
import { type Fault, sendDeltasForever, type Verdict } from './fault.ts'
import { type Outcome, outcomeOf, readLeniently } from './outcome.ts'
import { CALLS, SLOPPY } from './sloppy.ts'

const CREDIT = '100'
/** A stream on a channel with long timeouts, so that only a leaving client ends it. */
const FOREVER: Fault = { name: 'deltas-forever', play: sendDeltasForever }
/** Largest growth of the process during endless answers, far below the bytes that it receives. */
const MAX_GROWTH_MIB = 150

let bench: Bench
let requestCount = 0

beforeAll(async () => {
  bench = await startBench([...CUT_OFF, ...SLOPPY, FOREVER], CREDIT)
})

afterAll(async () => {
  await bench?.stop()
})

async function ask(pair: Pair, model: string): Promise<Answer> {
  requestCount++
  return await bench.ask(pair, model)
}

const verdictOf = (fault: Fault, { client, upstream, stream }: Pair): Verdict | undefined => {
  const verdict = stream ? fault.stream : fault.json
  return verdict !== undefined && client === upstream ? (fault.bytes ?? verdict) : verdict
}

/** The problem with an answer; undefined without one. */
function complaint(answer: Answer, pair: Pair, verdict: Verdict, raw = ''): string | undefined {
  let outcome: Outcome
  const leaks = leaksIn(answer, bench)
  if (leaks.length > 0) return `shows ${leaks.join()}: ${answer.text.slice(0, 500)}`
  const bytes = pair.client === pair.upstream
  const expected = { dialect: pair.client, stream: pair.stream, bytes }
  if (verdict === 'raw') return rawComplaint(readLeniently(answer, expected), raw, answer)
  try {
    outcome = outcomeOf(answer, expected)
  } catch (error) {
    return `${(error as Error).message}: ${answer.text.slice(0, 2_000)}`
  }
  if (outcome.kind === 'refused' || outcome.kind === 'broken') {
    if (outcome.code !== 'upstream_error') return `has code ${outcome.code}`
    return verdict === 'error' || verdict === 'either'
      ? undefined
      : `is ${outcome.kind}: ${answer.text.slice(0, 300)}`
  }
  if (verdict === 'either') return undefined
  if (verdict === 'error')
    return outcome.kind === 'unreadable' ? undefined : `looks complete: ${answer.text.slice(0, 2_000)}`
  if (outcome.kind === 'unreadable') return 'cannot be parsed'
  const { text, calls } = outcome.view
  if (text !== TEXT) return `has text ${JSON.stringify(text)}`
  const wanted = CALLS.map(({ id, name, arguments: input }) => ({
    id,
    kind: 'function',
    name,
    input: JSON.parse(input),
  }))
  if (verdict === 'calls') {
    try {
      expect(calls).toEqual(wanted)
    } catch {
      return `calls ${JSON.stringify(calls)}`
    }
  }
  return undefined
}

/** On the byte lane arguments that are not a JSON object stay as they are. */
function rawComplaint(view: View | undefined, raw: string, { text }: Answer): string | undefined {
  const input = view?.calls[0]?.input
  const forms = [raw, tryParse(raw)].map((form) => JSON.stringify(form))
  if (input !== undefined && forms.includes(JSON.stringify(input))) return undefined
  return `calls with ${JSON.stringify(input)}: ${text.slice(0, 2_000)}`
}

async function expectAll(
  name: string,
  verdict: (pair: Pair) => Verdict | undefined,
  raw?: string,
): Promise<void> {
  // Another request must be served at the same time.
  const other = PAIRS[requestCount % PAIRS.length]
  const complaints = await Promise.all([
    other && ask(other, 'fine').then((answer) => complaint(answer, other, 'answer')),
    ...PAIRS.map(async (pair) => {
      const wanted = verdict(pair)
      if (wanted === undefined) return undefined
      const found = complaint(await ask(pair, name), pair, wanted, raw)
      return found === undefined ? undefined : `${nameOf(pair)}: ${found}`
    }),
  ])
  expect(complaints.filter((found) => found !== undefined)).toEqual([])
}

describe('an incomplete answer is never a success', () => {
  it('closed', () => expectAll('closed', () => 'error'))
  it.each(CUT_OFF.map((fault) => [fault.name, fault] as const))('%s', (name, fault) =>
    expectAll(name, (pair) => verdictOf(fault, pair)),
  )
})

describe('an odd but complete answer arrives', () => {
  it.each(SLOPPY.map((fault) => [fault.name, fault] as const))('%s', (name, fault) =>
    expectAll(name, (pair) => verdictOf(fault, pair), fault.raw),
  )
})

describe('a client that leaves', () => {
  it.each(PAIRS.filter(({ stream }) => stream))(
    '$client over $upstream: the upstream call is closed too',
    async (pair) => {
      const { calls } = bench.upstreams[pair.upstream]
      const before = calls.length
      requestCount++
      const res = await bench.begin(pair, FOREVER.name)
      await once(res, 'data')
      res.destroy()
      const left = await until(
        () => calls.slice(before).find(({ aborted }) => aborted),
        'the upstream call to be closed',
      )
      expect(left.path).toContain('/v1/')
    },
  )
})

describe('after all faults', () => {
  it('no request is in flight, and each was settled once', async () => {
    const { gateway } = bench
    await until(
      async () => (await metric(gateway, 'sluice_requests_in_flight')) === 0,
      'no request in flight',
    )
    await until(() => logged(gateway).length >= requestCount, 'all log lines')
    const lines = logged(gateway)
    expect(new Set(lines.map(({ requestId }) => requestId)).size).toBe(lines.length)
    expect(lines.length).toBe(requestCount)
    const settled = lines.reduce((sum, line) => sum + nanos(line.settled ?? '0'), 0)
    expect(settled).toBeGreaterThan(0)
    expect(await balanceOf(gateway, 'payer')).toEqual({ balance: nanos(CREDIT) - settled, held: 0 })
  })

  it('failures cost nothing, and no request more than its hold', () => {
    const lines = logged(bench.gateway)
    const failed = lines.filter(({ status }) => status !== 200)
    expect(failed.length).toBeGreaterThan(100)
    expect(failed.filter(({ settled }) => nanos(settled ?? '0') !== 0)).toEqual([])
    // Absurd usage costs at most the hold.
    for (const { settled, hold } of lines) {
      expect(nanos(settled ?? '0')).toBeGreaterThanOrEqual(0)
      expect(nanos(settled ?? '0')).toBeLessThanOrEqual(nanos(hold ?? '0'))
    }
  })

  it('good requests are served', () => expectAll('fine', () => 'answer'))

  it('endless answers do not stay in memory', async () => {
    const endless = ['endless-event', 'endless-answer']
    const round = async () => {
      for (const name of endless) await Promise.all(PAIRS.map((pair) => ask(pair, name)))
    }
    await round()
    const before = residentMiB()
    for (let i = 0; i < 3; i++) await round()
    expect(residentMiB() - before).toBeLessThan(MAX_GROWTH_MIB)
  })

  it('the process is running and logged no internal error', () => {
    expect(bench.gateway.child.exitCode).toBeNull()
    const internal = logged(bench.gateway).filter(({ status }) => status === 500)
    expect(internal).toEqual([])
    expect(bench.gateway.output()).not.toMatch(
      /internal_error|observer_failed|[Uu]nhandled|TypeError|RangeError/,
    )
  })
})

function residentMiB(): number {
  const status = readFileSync(`/proc/${bench.gateway.child.pid}/status`, 'utf8')
  return Number(/^VmRSS:\s+(\d+) kB$/m.exec(status)?.[1] ?? Number.NaN) / 1024
}
