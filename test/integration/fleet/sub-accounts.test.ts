/** Sub-accounts in a cluster: their statuses, their lines in the journal, and their sums after Redis has lost everything. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { controlPlane } from '../../harness/control-plane.ts'
import { type Fleet, startFleet } from '../../harness/fleet.ts'
import { ask, digestOf, startReportingUpstream } from '../../harness/fleet-traffic.ts'
import { until } from '../../harness/gateway.ts'
import { startSluice } from '../../harness/program.ts'
import type { ScriptedUpstream } from '../../harness/upstream.ts'

const KEY = 'sk-of-a-sub-account'
const PATIENCE_MS = 30_000

let fleet: Fleet
let upstream: ScriptedUpstream

beforeAll(async () => {
  upstream = await startReportingUpstream('first')
  const env = { SLUICE_JOURNAL: 'stdout' }
  fleet = await startFleet({ controlPlane: await controlPlane(), controllers: 1, proxies: 1, env })
  const { kube } = fleet
  const { baseURL } = upstream
  await kube.create('Channel', 'main', { type: 'chat_completion', baseURL, auth: { scheme: 'None' } })
  await kube.create('ModelRoute', 'paid', {
    ...{ model: 'paid', channels: [{ name: 'main' }], price: { perRequest: '0.5' } },
  })
  await kube.create('Account', 'company', {})
  await kube.create('Account', 'team', { parent: { name: 'company' } })
  await kube.create('Credit', 'money', { accountRef: { name: 'company' }, amount: '10' })
  await kube.create('Credit', 'allowance', { accountRef: { name: 'team' }, amount: '2' })
  await kube.create('ApiKey', 'team', { hashes: [digestOf(KEY)], accountRef: { name: 'team' } })
  await until(async () => (await asked()).startsWith('200'), 'a request to be served', PATIENCE_MS)
})
afterAll(async () => {
  await fleet?.stop()
  await upstream?.close()
})

const asked = async () => (await ask(fleet.bases[0] ?? '', KEY, 'paid')).summary

const FIELDS = ['balance', 'held', 'credited', 'spent'] as const

/** Waits for the funds in the status of an Account. */
async function funds(name: string, expected: Record<(typeof FIELDS)[number], string>): Promise<void> {
  const path = `/apis/sluice.dev/v1alpha1/namespaces/${fleet.namespace}/accounts/${name}`
  const read = async () => {
    const { status = {} } = (await fleet.kube.request('GET', path)) as { status?: Record<string, unknown> }
    return Object.fromEntries(FIELDS.map((field) => [field, status[field]]))
  }
  await expect.poll(read, { timeout: PATIENCE_MS }).toEqual(expected)
}

async function sluice(...args: string[]): Promise<{ code: number | string; output: string }> {
  const env = {
    SLUICE_REDIS_URL: fleet.redis.url,
    SLUICE_SEALING_KEYS_FILE: fleet.sealingKeysFile,
    SLUICE_ADMIN_URLS: fleet.controllers.map(({ admin }) => admin).join(','),
  }
  const program = startSluice(env, ['ledger', ...args])
  return { code: await program.exited, output: program.output() }
}

const COMPANY = { balance: '9.5', held: '0', credited: '10', spent: '0.5' }
const TEAM = { balance: '1.5', held: '0', credited: '2', spent: '0.5' }

test('both statuses show what was spent, and only its own Credits', async () => {
  await funds('company', COMPANY)
  await funds('team', TEAM)
  expect(await fleet.kube.condition('Account', 'team', 'Ready')).toBe('True Ready')
  expect(await fleet.kube.condition('Credit', 'allowance', 'Ready')).toBe('True Ready')
})

test('a Redis that has lost everything gets both back', async () => {
  await fleet.redis.command('FLUSHALL')
  await until(async () => (await asked()).startsWith('200'), 'a request to be served', PATIENCE_MS)
  await funds('company', { balance: '9', held: '0', credited: '10', spent: '1' })
  await funds('team', { balance: '1', held: '0', credited: '2', spent: '1' })
})

test('its requests are in the journal with its name, and in the list of its parent', async () => {
  const { namespace } = fleet
  await until(
    async () => (await sluice('verify', ...fleet.logs)).output.startsWith('1 accounts agree'),
    'the journal',
    PATIENCE_MS,
  )
  const lines = fleet.controllers.flatMap((one) => one.output().split('\n'))
  const settle = lines.find((line) => line.includes('"type":"settle"')) ?? '{}'
  expect(JSON.parse(settle)).toMatchObject({ account: `${namespace}/company`, sub: `${namespace}/team` })
  const own = await sluice('list', `${namespace}/company`, '--sub', 'team', '-o', 'json')
  const entries = JSON.parse(own.output) as { kind: string; delta: string }[]
  expect(entries.length).toBeGreaterThan(0)
  expect(entries.some(({ kind, delta }) => kind === 'credit' && delta === '10')).toBe(false)
})

test('an operator corrects an allowance, and no money moves', async () => {
  const account = `${fleet.namespace}/company`
  const correction = ['adjust', account, '--sub', 'team', '--spent=-1', '--reason', 'a gift']
  expect((await sluice(...correction)).code).toBe(0)
  await funds('team', { balance: '2', held: '0', credited: '2', spent: '0' })
  await funds('company', { balance: '9', held: '0', credited: '10', spent: '1' })
  const absent = await sluice('adjust', account, '--sub', 'missing', '--spent', '1', '--reason', 'x')
  expect([absent.code, absent.output]).toEqual([1, expect.stringContaining('this sub-account')])
})
