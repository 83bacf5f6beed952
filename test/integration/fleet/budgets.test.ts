/** Budgets in a cluster: what statuses, events and metrics say, and what they know after Redis has lost everything. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { controlPlane } from '../../harness/control-plane.ts'
import { type Fleet, metric, startFleet } from '../../harness/fleet.ts'
import { ask, digestOf, startReportingUpstream } from '../../harness/fleet-traffic.ts'
import { until } from '../../harness/gateway.ts'
import type { ScriptedUpstream } from '../../harness/upstream.ts'

const PATIENCE_MS = 30_000
const KEYS = { team: 'sk-of-a-team', alone: 'sk-alone' }

let fleet: Fleet
let upstream: ScriptedUpstream

beforeAll(async () => {
  upstream = await startReportingUpstream('first')
  fleet = await startFleet({ controlPlane: await controlPlane(), controllers: 1, proxies: 1 })
  const { kube } = fleet
  const { baseURL } = upstream
  await kube.create('Channel', 'main', { type: 'chat_completion', baseURL, auth: { scheme: 'None' } })
  await kube.create('ModelRoute', 'paid', {
    ...{ model: 'paid', channels: [{ name: 'main' }], price: { perRequest: '1' } },
  })
  await kube.create('Account', 'team', { budget: { amount: '4' }, lowBalance: ['8.5'], metrics: true })
  await kube.create('Credit', 'money', { accountRef: { name: 'team' }, amount: '10' })
  await kube.create('ApiKey', 'team', { hashes: [digestOf(KEYS.team)], accountRef: { name: 'team' } })
  await kube.create('ApiKey', 'alone', {
    ...{ hashes: [digestOf(KEYS.alone)], budget: { amount: '2', period: 'Day', timeZone: 'Asia/Tokyo' } },
  })
  await until(async () => (await asked('team')).startsWith('200'), 'a request to be served', PATIENCE_MS)
  await until(async () => (await asked('alone')).startsWith('200'), 'a request to be served', PATIENCE_MS)
})
afterAll(async () => {
  await fleet?.stop()
  await upstream?.close()
})

const asked = async (name: keyof typeof KEYS) => (await ask(fleet.bases[0] ?? '', KEYS[name], 'paid')).summary

const path = (plural: string, name: string) =>
  `/apis/sluice.dev/v1alpha1/namespaces/${fleet.namespace}/${plural}/${name}`

async function statusOf(plural: string, name: string): Promise<Record<string, unknown>> {
  const { status = {} } = (await fleet.kube.request('GET', path(plural, name))) as {
    status?: Record<string, unknown>
  }
  return status
}

function spent(plural: string, name: string, dollars: string): Promise<unknown> {
  const is = async () => {
    const [budget] = ((await statusOf(plural, name)).budgets ?? []) as { spent: string }[]
    return budget?.spent === dollars
  }
  return until(is, `${name} to have spent ${dollars}`, PATIENCE_MS)
}

/** "Type Reason" of each event of this resource. */
async function events(name: string): Promise<string[]> {
  const all = (await fleet.kube.request(
    'GET',
    `/apis/events.k8s.io/v1/namespaces/${fleet.namespace}/events`,
  )) as {
    items: { type: string; reason: string; regarding: { name: string } }[]
  }
  return all.items
    .filter(({ regarding }) => regarding.name === name)
    .map(({ type, reason }) => `${type} ${reason}`)
}

function fail(): never {
  throw new Error('no controller')
}

const low = (kind: 'Account' | 'ApiKey', name: string) => fleet.kube.condition(kind, name, 'FundsLow')

test('the statuses of an Account and of an ApiKey show what is spent, and when the budget renews', async () => {
  await spent('accounts', 'team', '1')
  await spent('apikeys', 'alone', '1')
  const [budget] = (await statusOf('apikeys', 'alone')).budgets as { amount: string; renewsAt: string }[]
  expect(budget?.amount).toBe('2')
  // Midnight in Tokyo.
  expect(budget?.renewsAt).toMatch(/T15:00:00.000Z$/)
  expect([await low('Account', 'team'), await low('ApiKey', 'alone')]).toEqual([undefined, undefined])
})

test('FundsLow is set at a low balance and at a spent budget, with an event and a metric; Ready stays', async () => {
  expect(await asked('team')).toContain('200')
  expect(await asked('alone')).toContain('200')
  await until(async () => (await low('Account', 'team')) === 'True FundsLow', 'FundsLow', PATIENCE_MS)
  await until(async () => (await low('ApiKey', 'alone')) === 'True FundsLow', 'FundsLow', PATIENCE_MS)
  expect(await fleet.kube.condition('Account', 'team', 'Ready')).toBe('True Ready')
  const conditions = (await statusOf('apikeys', 'alone')).conditions as { type: string; message: string }[]
  const { message } = conditions.find(({ type }) => type === 'FundsLow') ?? {}
  expect(message).toMatch(/^the budget is used up until .*T15:00:00.000Z$/)
  await until(async () => (await events('team')).includes('Warning FundsLow'), 'an event', PATIENCE_MS)
  const value = (series: string) => metric(fleet.controllers[0] ?? fail(), series)
  expect(await value('sluice_funds_low{kind="Account"}')).toBe(1)
  expect(await value('sluice_funds_low{kind="ApiKey"}')).toBe(1)
  const of = `namespace="${fleet.namespace}",account="team"`
  expect(await value(`sluice_account_balance_dollars{${of}}`)).toBe(8)
  expect(await value(`sluice_account_budget_dollars{${of},model=""}`)).toBe(4)
  expect(await value(`sluice_account_budget_spent_dollars{${of},model=""}`)).toBe(2)
})

test('a Redis that has lost everything gets the budgets back', async () => {
  await spent('accounts', 'team', '2')
  await fleet.redis.command('FLUSHALL')
  await until(async () => (await asked('alone')).startsWith('402'), 'the budget to be known', PATIENCE_MS)
  await until(async () => (await asked('team')).startsWith('200'), 'a request to be served', PATIENCE_MS)
  await spent('accounts', 'team', '3')
  expect(await asked('team')).toContain('200')
  expect(await asked('team')).toContain('402')
})

test('a credit ends the warning about the balance', async () => {
  await fleet.kube.create('Credit', 'more', { accountRef: { name: 'team' }, amount: '100' })
  await fleet.kube.patch('Account', 'team', { budget: { amount: '400' } })
  await until(async () => (await low('Account', 'team')) === undefined, 'FundsLow to end', PATIENCE_MS)
})
