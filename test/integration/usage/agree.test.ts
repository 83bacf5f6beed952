/**
 * Who used what, by everyone who counts: after USAGE_REQUESTS of all endpoints at three proxies, the far end's own log, `sluice
 * usage`, GET /v1/usage, the ledger, its journal and the metrics have the same requests, tokens and costs.
 */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { z } from 'zod'
import { formatDollars } from '../../../contract/money.ts'
import { controlPlane } from '../../harness/control-plane.ts'
import { type Fleet, type Member, metric, startFleet } from '../../harness/fleet.ts'
import { digestOf } from '../../harness/fleet-traffic.ts'
import { until } from '../../harness/gateway.ts'
import { startSluice } from '../../harness/program.ts'
import { ask, type Case, modelOf, WAYS_COUNT } from './clients.ts'
import { type FarEnd, type Logged, startFarEnd } from './far-end.ts'

const REQUESTS = Number(process.env.USAGE_REQUESTS ?? 300)
const LANES = 16
const PATIENCE_MS = 30_000

/** Micro-dollars for a token, and for a request. */
const PRICE = { input: '1', output: '4', perRequest: '0.000002' }
const costOf = ({ input, output, failed }: Logged) => (failed ? 0 : input * 1_000 + output * 4_000 + 2_000)

/** Keys and their accounts: one of its own, a sub-account, none. */
const ACCOUNTS: Record<string, string | undefined> = { alice: 'class', bob: 'student', free: undefined }
const KEYS = Object.keys(ACCOUNTS)
const secretOf = (key: string) => `sk-usage-of-${key}-0123456789`
const PROJECTS = ['red', 'blue', undefined]
const CREDIT = 1_000

let farEnd: FarEnd
let fleet: Fleet
const cases: Case[] = []

beforeAll(async () => {
  farEnd = await startFarEnd()
  fleet = await startFleet({
    controlPlane: await controlPlane(),
    controllers: 1,
    env: { SLUICE_JOURNAL: 'stdout', SLUICE_TAG_NAMES: 'project' },
  })
  await makeResources()
  for (const base of fleet.bases)
    for (const key of KEYS)
      await until(
        async () => (await send(base, key, undefined)) === 200,
        'a request to be served',
        PATIENCE_MS,
      )
  await sendAll()
  // Proxies count what keys without an account used every second. The tests say what is missing in the end.
  await until(
    async () => (await counted()) === farEnd.log.length,
    'all requests to be counted',
    PATIENCE_MS,
  ).catch(() => undefined)
}, 600_000)
afterAll(async () => {
  await fleet?.stop()
  await farEnd?.close()
})

async function makeResources(): Promise<void> {
  const { kube } = fleet
  const { origin } = farEnd
  await kube.create('Account', 'class', {})
  await kube.create('Account', 'student', { parent: { name: 'class' } })
  for (const name of ['class', 'student'])
    await kube.create('Credit', name, { accountRef: { name }, amount: String(CREDIT) })
  for (const [name, account] of Object.entries(ACCOUNTS)) {
    const accountRef = account === undefined ? {} : { accountRef: { name: account } }
    await kube.create('ApiKey', name, { hashes: [digestOf(secretOf(name))], ...accountRef })
  }
  const types = {
    chat: 'chat_completion',
    responses: 'responses',
    messages: 'messages',
    embed: 'embeddings',
    paint: 'images',
  }
  for (const [name, type] of Object.entries(types)) {
    const baseURL = type === 'messages' ? origin : `${origin}/v1`
    await kube.create('Channel', name, { type, baseURL, auth: { scheme: 'None' } })
    const retry = { attempts: 1 }
    await kube.create('ModelRoute', name, { model: name, channels: [{ name }], price: PRICE, retry })
  }
}

/** The next way to ask. */
async function send(base: string, key: string, project: string | undefined): Promise<number> {
  const id = cases.length
  const one: Case = { id, key, project, model: modelOf(id), status: 0 }
  cases.push(one)
  one.status = await ask(base, secretOf(key), one)
  return one.status
}

/** Requests of all endpoints, of all keys and projects, to all proxies. */
async function sendAll(): Promise<void> {
  const lane = async (_: unknown, number: number) => {
    const base = fleet.bases[number % fleet.bases.length] ?? ''
    for (let i = number; i < REQUESTS; i += LANES) {
      const turn = Math.floor(i / WAYS_COUNT)
      const key = KEYS[turn % KEYS.length] ?? ''
      await send(base, key, PROJECTS[Math.floor(turn / KEYS.length) % PROJECTS.length])
    }
  }
  await Promise.all(Array.from({ length: LANES }, lane))
}

interface Counts {
  requests: number
  errors: number
  input: number
  output: number
  /** Nano-dollars. */
  cost: number
}

/** What the far end's log says, by what a call belongs to; undefined: to nothing. */
function expected(nameOf: (one: Case) => string | undefined): [string, Counts][] {
  const found = new Map<string, Counts>()
  for (const call of farEnd.log) {
    const one = cases[call.id]
    const name = one === undefined ? 'no client' : nameOf(one)
    if (name === undefined) continue
    const counts = found.get(name) ?? { requests: 0, errors: 0, input: 0, output: 0, cost: 0 }
    found.set(name, counts)
    counts.requests += 1
    counts.errors += call.failed ? 1 : 0
    counts.cost += costOf(call)
    counts.input += call.failed ? 0 : call.input
    counts.output += call.failed ? 0 : call.output
  }
  return sorted(found)
}

const accountOf = ({ key }: Case) =>
  ACCOUNTS[key] === undefined ? '' : `${fleet.namespace}/${ACCOUNTS[key]}`

const answer = z.object({
  lines: z.array(
    z.object({
      of: z.record(z.string(), z.string()),
      counts: z.record(z.string(), z.union([z.string(), z.number()])),
    }),
  ),
})

async function usageBy(dimension: string): Promise<[string, Counts][]> {
  const program = startSluice({ SLUICE_ADMIN_URLS: fleet.admins.join(',') }, [
    'usage',
    '--by',
    dimension,
    '-o',
    'json',
  ])
  expect(await program.exited, program.output()).toBe(0)
  const { lines } = answer.parse(JSON.parse(program.output()))
  return sorted(
    new Map(
      lines.map(({ of, counts }) => {
        const { requests = 0, errors = 0, input = 0, output = 0, cost = 0 } = counts
        const numbers = [requests, errors, input, output].map(Number)
        const [r = 0, e = 0, i = 0, o = 0] = numbers
        return [of[dimension] ?? '', { requests: r, errors: e, input: i, output: o, cost: nanos(cost) }]
      }),
    ),
  )
}

const nanos = (dollars: string | number) => Math.round(Number(dollars) * 1e9)
const sorted = (counts: Map<string, Counts>) => [...counts].sort(([a], [b]) => (a < b ? -1 : 1))

async function counted(): Promise<number> {
  return (await usageBy('model')).reduce((sum, [, { requests }]) => sum + requests, 0)
}

/** The sum of a counter over all proxies. */
async function metricSum(series: string): Promise<number> {
  const values = await Promise.all(fleet.proxies.map((proxy: Member) => metric(proxy, series)))
  return values.reduce<number>((sum, value) => sum + (value ?? 0), 0)
}

test('every request is answered, and each that the far end failed is an error', () => {
  const called = new Map(farEnd.log.map((call) => [call.id, call]))
  const wrong = cases.filter(({ id, status }) => {
    const call = called.get(id)
    return call === undefined ? status === 200 : call.failed === (status === 200)
  })
  expect(wrong).toEqual([])
  expect(farEnd.log.length).toBeGreaterThanOrEqual(REQUESTS)
  expect(farEnd.log.filter(({ failed }) => failed).length).toBeGreaterThan(0)
})

describe('sluice usage agrees with the far end', () => {
  test.each<[string, (one: Case) => string | undefined]>([
    ['model', ({ model }) => model],
    ['key', ({ key }) => `${fleet.namespace}/${key}`],
    ['account', accountOf],
    ['tag', ({ project }) => (project === undefined ? undefined : `project=${project}`)],
  ])('by %s', async (dimension, nameOf) => {
    expect(await usageBy(dimension)).toEqual(expected(nameOf))
  })
})

test.each(KEYS)('%s sees the same in /v1/usage', async (key) => {
  const { days } = await ownUsageOf(key)
  const own = new Map<string, number>()
  for (const { model, cost } of days) own.set(model, (own.get(model) ?? 0) + nanos(cost))
  const costs = expected((one) => (one.key === key ? one.model : undefined)).map(([name, { cost }]) => [
    name,
    cost,
  ])
  expect([...own].sort(([a], [b]) => (a < b ? -1 : 1))).toEqual(costs)
})
const ownUsage = z.object({
  balance: z.string().optional(),
  days: z.array(z.object({ model: z.string(), cost: z.string() })),
})

test('the ledger and its journal have charged the same', async () => {
  const verified = async () => {
    const program = startSluice({}, ['ledger', 'verify', '--admin', fleet.admins.join(','), ...fleet.logs])
    await program.exited
    return program.output()
  }
  // The journal is written once a second.
  await until(
    async () => (await verified()).startsWith('1 accounts agree, 0 have newer entries, 0 differ'),
    'the journal',
    PATIENCE_MS,
  )
  const charged = new Map<string, number>()
  for (const line of fleet.controllers.flatMap((one) => one.output().split('\n'))) {
    if (!line.includes('"kind":"ledger"')) continue
    const { account, sub = '', type, delta = '0' } = journalLine.parse(JSON.parse(line))
    const payer = sub === '' ? account : sub
    if (type === 'settle') charged.set(payer, (charged.get(payer) ?? 0) - nanos(delta))
  }
  const metered = expected((one) => accountOf(one) || undefined)
  expect([...charged].sort()).toEqual(metered.map(([name, { cost }]) => [name, cost]))
  const costs = metered.reduce((sum, [, { cost }]) => sum + cost, 0)
  expect((await ownUsageOf('alice')).balance).toBe(formatDollars(CREDIT * 1e9 - costs))
})
const journalLine = z.looseObject({
  account: z.string(),
  sub: z.string().optional(),
  type: z.string(),
  delta: z.string().optional(),
})

async function ownUsageOf(key: string) {
  const headers = { authorization: `Bearer ${secretOf(key)}` }
  return ownUsage.parse(await (await fetch(`${fleet.bases[0]}/v1/usage`, { headers })).json())
}

test('the metrics of the proxies add up to the same', async () => {
  const all = expected(({ model }) => model)
  for (const [model, { cost }] of all) {
    const labels = `model="${model}",channel="${fleet.namespace}/${model}"`
    expect(await metricSum(`sluice_cost_dollars_total{${labels}}`)).toBeCloseTo(cost / 1e9, 9)
  }
  for (const kind of ['input', 'output'] as const) {
    const tokens = all.reduce((sum, [, counts]) => sum + counts[kind], 0)
    expect(await metricSum(`sluice_tokens_total{kind="${kind}"}`)).toBe(tokens)
  }
})
