import { beforeEach, describe, expect, test } from 'vitest'
import type { ProxyMetrics, RequestFacts } from './metrics.ts'
import { testMetrics } from './testing.ts'

const FACTS: RequestFacts = { endpoint: 'chat', model: 'gpt', status: 200, durationSeconds: 0.5 }

let metrics: ProxyMetrics
let ejected: string[]
beforeEach(() => {
  ejected = []
  metrics = testMetrics({
    inFlight: () => 3,
    holds: () => 2,
    generation: () => 1_764_000_000_001,
    ejected: () => ejected,
  })
})

interface Sample {
  name: string
  labels: Record<string, string>
  value: number
}

const NAME = '[a-zA-Z_:][a-zA-Z0-9_:]*'
const LABEL = '([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\\\\\n]|\\\\["\\\\n])*)"'
const SAMPLE = new RegExp(`^(${NAME})(?:\\{((?:${LABEL},?)*)\\})? (\\S+)$`)
const COMMENT = new RegExp(`^# (?:HELP ${NAME} .+|TYPE ${NAME} (?:counter|gauge|histogram|summary|untyped))$`)

/** Parses the text exposition format; throws on a line that it does not allow, and on a series named twice. */
function parse(text: string): Sample[] {
  expect(text.endsWith('\n')).toBe(true)
  const samples: Sample[] = []
  const seen = new Set<string>()
  for (const line of text.split('\n')) {
    if (line === '' || COMMENT.test(line)) continue
    const [, name, labels = '', , , number = ''] = SAMPLE.exec(line) ?? []
    // Go, which parses it, accepts NaN in any case.
    const known = /^\+Inf$|^nan$/i.test(number) || Number.isFinite(Number(number))
    if (name === undefined || !known) throw new Error(`not a sample: ${line}`)
    const series = `${name}{${labels}}`
    if (seen.has(series)) throw new Error(`named twice: ${series}`)
    seen.add(series)
    const unescaped = (text: string) => text.replace(/\\(.)/g, (_, c: string) => (c === 'n' ? '\n' : c))
    const pairs = [...labels.matchAll(new RegExp(LABEL, 'g'))]
    const entries = pairs.map(([, key = '', text = '']): [string, string] => [key, unescaped(text)])
    samples.push({ name, labels: Object.fromEntries(entries), value: Number(number) })
  }
  return samples
}

async function samples(name: string): Promise<Omit<Sample, 'name'>[]> {
  const all = parse(await metrics.registry.metrics())
  return all.filter((sample) => sample.name === name).map(({ labels, value }) => ({ labels, value }))
}

test('a scrape counts nothing again, and the next one has what came between', async () => {
  metrics.finished(FACTS)
  metrics.attempt('default/up', 'ok')
  const values = async () => [
    ...(await samples('sluice_requests_total')),
    ...(await samples('sluice_upstream_attempts_total')),
    ...(await samples('gen_ai_server_request_duration_seconds_count')),
  ]
  const first = await values()
  expect(first.map(({ value }) => value)).toEqual([1, 1, 1])
  expect(await values()).toEqual(first)
  metrics.finished(FACTS)
  expect((await values()).map(({ value }) => value)).toEqual([2, 1, 2])
})

test('requests are counted by endpoint, status, code and domain', async () => {
  metrics.finished(FACTS)
  metrics.finished(FACTS)
  metrics.finished({ ...FACTS, status: 402, error: { code: 'insufficient_balance', domain: 'policy' } })
  expect(await samples('sluice_requests_total')).toEqual([
    { labels: { endpoint: 'chat', status: '200', code: 'ok', domain: 'none' }, value: 2 },
    {
      labels: { endpoint: 'chat', status: '402', code: 'insufficient_balance', domain: 'policy' },
      value: 1,
    },
  ])
})

test('durations are in seconds, by operation, model and error', async () => {
  metrics.finished(FACTS)
  metrics.finished({
    ...FACTS,
    durationSeconds: 2,
    status: 502,
    error: { code: 'upstream_error', domain: 'upstream' },
  })
  const labels = { gen_ai_operation_name: 'chat', gen_ai_request_model: 'gpt' }
  expect(await samples('gen_ai_server_request_duration_seconds_sum')).toEqual([
    { labels: { ...labels, error_type: '' }, value: 0.5 },
    { labels: { ...labels, error_type: 'upstream_error' }, value: 2 },
  ])
})

test('input tokens of every kind and output tokens are counted; unknown numbers add nothing', async () => {
  metrics.finished(FACTS)
  expect(await samples('gen_ai_client_token_usage_count')).toEqual([])
  expect(await samples('gen_ai_server_time_to_first_token_seconds_count')).toEqual([])
  expect(await samples('sluice_request_overhead_seconds_count')).toEqual([])
  const usage = {
    input: 1,
    cachedInput: 10,
    cacheWrite: 100,
    cacheWriteLong: 1_000,
    output: 7,
    reasoning: 5,
    images: 0,
  }
  metrics.finished({ ...FACTS, usage, firstTokenSeconds: 0.25, overheadSeconds: 0.001 })
  const sums = await samples('gen_ai_client_token_usage_sum')
  expect(sums.map(({ labels, value }) => [labels.gen_ai_token_type, value])).toEqual([
    ['input', 1_111],
    ['output', 7],
  ])
  expect((await samples('gen_ai_server_time_to_first_token_seconds_sum'))[0]?.value).toBe(0.25)
  expect((await samples('sluice_request_overhead_seconds_sum'))[0]?.value).toBe(0.001)
})

test('attempts, failures and table swaps are counted', async () => {
  metrics.attempt('default/main', 'ok')
  metrics.attempt('default/main', 'rate_limit')
  metrics.ledgerFailures.inc({ operation: 'settle' })
  metrics.tableFailures.inc()
  metrics.swaps.inc()
  expect((await samples('sluice_upstream_attempts_total')).map(({ labels }) => labels)).toEqual([
    { channel: 'default/main', class: 'ok' },
    { channel: 'default/main', class: 'rate_limit' },
  ])
  expect(await samples('sluice_ledger_failures_total')).toEqual([
    { labels: { operation: 'settle' }, value: 1 },
  ])
  expect(await samples('sluice_table_read_failures_total')).toEqual([{ labels: {}, value: 1 }])
  expect(await samples('sluice_table_swaps_total')).toEqual([{ labels: {}, value: 1 }])
})

describe('gauges are read at each scrape', () => {
  test('requests, holds and the generation, to the last digit', async () => {
    expect(await samples('sluice_requests_in_flight')).toEqual([{ labels: {}, value: 3 }])
    expect(await samples('sluice_holds')).toEqual([{ labels: {}, value: 2 }])
    expect(await samples('sluice_table_generation')).toEqual([{ labels: {}, value: 1_764_000_000_001 }])
  })

  test('a channel disappears when its ejection ends', async () => {
    ejected = ['default/a', 'default/b']
    expect((await samples('sluice_channel_ejected')).map(({ labels }) => labels.channel)).toEqual(ejected)
    ejected = ['default/b']
    expect(await samples('sluice_channel_ejected')).toEqual([{ labels: { channel: 'default/b' }, value: 1 }])
  })
})

test('the text is valid exposition format whatever a name contains', async () => {
  const name = 'a"b\\c\nd{}=, 你好 # HELP x'
  metrics.finished({ ...FACTS, model: name, endpoint: name })
  metrics.attempt(name, 'ok')
  ejected = [name]
  const [counted] = await samples('sluice_requests_total')
  const [attempt] = await samples('sluice_upstream_attempts_total')
  const [resting] = await samples('sluice_channel_ejected')
  expect([counted?.labels.endpoint, attempt?.labels.channel, resting?.labels.channel]).toEqual([
    name,
    name,
    name,
  ])
})

test('contains process metrics, and has the content type that scrapers accept', async () => {
  expect((await samples('process_start_time_seconds'))[0]?.value).toBeGreaterThan(1_700_000_000)
  expect(metrics.registry.contentType).toMatch(/^text\/plain; version=0\.0\.4/)
})
