/** An operator lists, corrects and restores balances with `sluice ledger`, as docs/operations.md says. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { controlPlane } from '../../harness/control-plane.ts'
import { type Fleet, startFleet } from '../../harness/fleet.ts'
import { ask, digestOf, startReportingUpstream } from '../../harness/fleet-traffic.ts'
import { until } from '../../harness/gateway.ts'
import { startSluice } from '../../harness/program.ts'
import type { ScriptedUpstream } from '../../harness/upstream.ts'

const KEY = 'sk-of-a-team'
const DELETED_CREDIT = '3'

let fleet: Fleet
let upstream: ScriptedUpstream
let account: string

beforeAll(async () => {
  upstream = await startReportingUpstream('first')
  fleet = await startFleet({
    controlPlane: await controlPlane(),
    controllers: 1,
    proxies: 1,
    env: { SLUICE_JOURNAL: 'stdout' },
  })
  account = `${fleet.namespace}/team`
  const { kube } = fleet
  const { baseURL } = upstream
  await kube.create('Channel', 'main', { type: 'chat_completion', baseURL, auth: { scheme: 'None' } })
  await kube.create('ModelRoute', 'paid', {
    ...{ model: 'paid', channels: [{ name: 'main' }], price: { perRequest: '0.5' } },
  })
  await kube.create('Account', 'team', {})
  await kube.create('Credit', 'kept', { accountRef: { name: 'team' }, amount: '10' })
  await kube.create('Credit', 'deleted', { accountRef: { name: 'team' }, amount: DELETED_CREDIT })
  await kube.create('ApiKey', 'team', { hashes: [digestOf(KEY)], accountRef: { name: 'team' } })
  await served()
  await status('credited', '13')
  await kube.remove('Credit', 'deleted')
})
afterAll(async () => {
  await fleet?.stop()
  await upstream?.close()
})

const served = () => until(async () => (await asked()).startsWith('200'), 'a request to be served', 30_000)
const asked = async () => (await ask(fleet.bases[0] ?? '', KEY, 'paid')).summary

/** Waits for a field of the Account's status. */
function status(field: string, value: string): Promise<unknown> {
  const path = `/apis/sluice.dev/v1alpha1/namespaces/${fleet.namespace}/accounts/team`
  const is = async () => {
    const found = (await fleet.kube.request('GET', path)) as { status?: Record<string, unknown> }
    return found.status?.[field] === value
  }
  return until(is, `${field} ${value}`, 30_000)
}

/** Runs a command in the surroundings of a controller's pod. */
async function sluice(...args: string[]): Promise<{ code: number | string; output: string }> {
  const env = {
    SLUICE_REDIS_URL: fleet.redis.url,
    SLUICE_SEALING_KEYS_FILE: fleet.sealingKeysFile,
    SLUICE_ADMIN_URLS: fleet.controllers.map(({ admin }) => admin).join(','),
  }
  const program = startSluice(env, ['ledger', ...args])
  const code = await program.exited
  return { code, output: program.output() }
}

/** The sums of the account as the ledger's own list of corrections ends with them. */
async function sums(): Promise<string> {
  const { output } = await sluice('adjust', account, '--spent', '1', '--reason', 'a look', '--dry-run')
  return output.split(', would be')[0] ?? ''
}

test('a correction is written once, with its reason, and reaches status and journal', async () => {
  const spent = () => sums()
  const before = await spent()
  const command = ['adjust', account, '--spent=-0.25', '--reason', 'two calls of the outage', '--id', 'fix-1']
  const { code, output } = await sluice(...command)
  expect([code, output]).toEqual([0, expect.stringContaining('correction fix-1')])
  const again = await sluice(...command)
  expect([again.code, again.output]).toEqual([0, expect.stringContaining('was made before')])
  const paid = Number(/spent ([\d.]+)/.exec(before)?.[1])
  expect(await spent()).toContain(`spent ${paid - 0.25}, `)
  await status('spent', String(paid - 0.25))
  const { output: listed } = await sluice('list', account, '-o', 'json')
  const entries = JSON.parse(listed) as {
    kind: string
    ref: string
    delta: string
    adjusted?: { text: string }
  }[]
  expect(entries.at(-1)).toMatchObject({
    ...{ kind: 'adjust', ref: 'fix-1', delta: '0.25' },
    adjusted: { reason: 'operator', text: 'two calls of the outage' },
  })
  expect(
    entries
      .filter(({ kind }) => kind === 'credit')
      .map(({ delta }) => delta)
      .toSorted(),
  ).toEqual(['10', '3'])
  expect((await sluice('verify', ...fleet.logs)).code).toBe(0)
})

test.each([
  ['adjust', 'nowhere/team', '--spent', '1', '--reason', 'x'],
  ['list', 'nowhere/team'],
  ['restore', 'team', '--spent', '1'],
])('bad input is one sentence: %s %s', async (...command) => {
  const { code, output } = await sluice(...command)
  expect(code).toBe(command[0] === 'restore' ? 2 : 1)
  expect(output).toMatch(/^sluice ledger \w+: .*(does not have this account|is not namespace\/name).*\n$/)
})

/** Loses the account and its checkpoint. */
async function lose(): Promise<void> {
  const [controller] = fleet.controllers
  await fleet.stopAll(fleet.controllers)
  const secrets = `/api/v1/namespaces/${fleet.namespace}/secrets`
  await fleet.kube.request('DELETE', `${secrets}?labelSelector=sluice.dev%2Fcheckpoint%3Dledger`)
  await fleet.redis.command('FLUSHALL')
  await controller?.restart()
  const closed = async () => (await fleet.kube.condition('Account', 'team', 'Ready')) === 'False LedgerLost'
  await until(closed, 'the account to be closed', 30_000)
  expect(await asked()).toBe('503 store_unavailable')
}

test('a closed account is named with what to type, and its journal opens it again', async () => {
  const before = await sums()
  const journal = join(fleet.sealingKeysFile, '../journal')
  await until(
    async () => (await sluice('verify', ...fleet.logs)).output.startsWith('1 accounts agree'),
    'the journal',
  )
  writeFileSync(journal, fleet.controllers.map((one) => one.output()).join('\n'))
  await lose()
  const { code, output } = await sluice('restore')
  expect(code).toBe(1)
  expect(output).toContain(`${account} is closed`)
  expect(output).toContain(`sluice ledger restore ${account} --from <file>`)

  const restored = await sluice('restore', account, '--from', journal)
  expect([restored.code, restored.output]).toEqual([0, expect.stringContaining('The leader opens it')])
  await until(
    async () => (await fleet.kube.condition('Account', 'team', 'Ready')) === 'True Ready',
    'the account',
    30_000,
  )
  expect(await sums()).toBe(before)
  expect((await sluice('restore')).output).toBe('no account is closed\n')
  await served()
  const repeated = await sluice('restore', account, '--from', journal)
  expect([repeated.code, repeated.output]).toEqual([1, expect.stringContaining('use sluice ledger adjust')])
  expect((await sluice('verify', ...fleet.logs)).code).toBe(0)
})

test('without a journal, the last known sums open it: no Credit is given twice', async () => {
  await until(async () => (await sums()).includes(', balance'), 'the sums')
  const spent = /spent ([\d.]+)/.exec(await sums())?.[1] ?? ''
  await status('spent', spent)
  const before = await sums()
  await lose()
  const { output } = await sluice('restore')
  expect(output).toContain(`last known: credited 13, spent ${spent}`)
  expect((await sluice('restore', account, '--spent', spent, '--credited', DELETED_CREDIT)).code).toBe(0)
  await until(
    async () => (await fleet.kube.condition('Account', 'team', 'Ready')) === 'True Ready',
    'the account',
    30_000,
  )
  await until(async () => (await sums()) === before, 'the Credit that exists', 30_000)
})
