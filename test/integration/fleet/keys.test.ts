/** `sluice keys` and `sluice credits` in a cluster, with the kubeconfig of an operator. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { controlPlane } from '../../harness/control-plane.ts'
import { type Fleet, startFleet } from '../../harness/fleet.ts'
import { ask, startReportingUpstream } from '../../harness/fleet-traffic.ts'
import { until } from '../../harness/gateway.ts'
import { startSluice } from '../../harness/program.ts'
import type { ScriptedUpstream } from '../../harness/upstream.ts'

const PATIENCE_MS = 30_000

let fleet: Fleet
let upstream: ScriptedUpstream
let kubeconfig: string

beforeAll(async () => {
  upstream = await startReportingUpstream('first')
  const plane = await controlPlane()
  kubeconfig = plane.kubeconfig
  fleet = await startFleet({ controlPlane: plane, controllers: 1, proxies: 1 })
  const { kube } = fleet
  await kube.create('Channel', 'main', {
    type: 'chat_completion',
    baseURL: upstream.baseURL,
    auth: { scheme: 'None' },
  })
  await kube.create('ModelRoute', 'paid', {
    ...{ model: 'paid', channels: [{ name: 'main' }], price: { perRequest: '1' } },
  })
  await kube.create('Account', 'class', {})
})
afterAll(async () => {
  await fleet?.stop()
  await upstream?.close()
})

async function sluice(...args: string[]): Promise<{ code: number | string; output: string }> {
  const env = {
    KUBECONFIG: kubeconfig,
    SLUICE_ADMIN_URLS: fleet.controllers.map(({ admin }) => admin).join(','),
  }
  const program = startSluice(env, [...args, '-n', fleet.namespace])
  return { code: await program.exited, output: program.output() }
}

const becomes = (key: string, status: string) =>
  until(
    async () => (await ask(fleet.bases[0] ?? '', key, 'paid')).summary.startsWith(status),
    status,
    PATIENCE_MS,
  )

test('a class is set up, a key is rotated and another revoked, all with the own commands', async () => {
  expect((await sluice('credits', 'add', 'class', '1000', '--name', 'june')).code).toBe(0)
  expect((await sluice('credits', 'add', 'class', '1000', '--name', 'june')).output).toContain(
    'exists already',
  )
  const labels = ['--secret-labels', 'team=llm,stage=test']
  const args = [
    ...labels,
    '--count',
    '20',
    '--prefix',
    'student-',
    '--account',
    'class',
    '--budget',
    '500/Month',
  ]
  const first = await sluice('keys', 'create', ...args, '-o', 'json')
  expect(first.code, first.output).toBe(0)
  const students = JSON.parse(first.output) as { name: string; key: string; note: string }[]
  expect(students).toHaveLength(20)
  const again = JSON.parse((await sluice('keys', 'create', ...args, '-o', 'json')).output) as typeof students
  expect(new Set(again.map(({ note }) => note))).toEqual(new Set(['exists already']))
  const secrets = await fleet.kubectl(
    'get',
    'secrets',
    '-l',
    'sluice.dev/secret=true,team=llm,stage=test',
    '-o',
    'name',
  )
  expect(secrets.stdout.split('\n').filter((name) => name.includes('student-'))).toHaveLength(20)
  await becomes(students[0]?.key ?? '', '200')
  await becomes(students[19]?.key ?? '', '200')

  const rotated = JSON.parse((await sluice('keys', 'rotate', 'student-01', '-o', 'json')).output)
  await becomes(rotated.key, '200')
  await becomes(students[0]?.key ?? '', '200')
  expect(await sluice('keys', 'rotate', 'student-01')).toMatchObject({
    ...{ code: 1, output: expect.stringContaining('rotate again after that') },
  })

  expect((await sluice('keys', 'revoke', 'student-20')).code).toBe(0)
  await becomes(students[19]?.key ?? '', '401')
  const listed = JSON.parse((await sluice('keys', 'list', '-o', 'json')).output) as {
    name: string
    state: string
  }[]
  expect(listed.map(({ state }) => state)).toEqual([...Array(19).fill('ready'), 'revoked'])
  const shown = (await sluice('keys', 'show', 'student-01')).output
  expect(JSON.parse(shown)).toMatchObject({ account: 'class', budget: { amount: '500', period: 'Month' } })
}, 120_000)

test('a generated key is rotated, too', async () => {
  await fleet.kube.create('ApiKey', 'made', { accountRef: { name: 'class' } })
  await until(
    async () => (await fleet.kube.condition('ApiKey', 'made', 'Ready')) === 'True Ready',
    'the key',
    PATIENCE_MS,
  )
  const { key } = JSON.parse((await sluice('keys', 'rotate', 'made', '-o', 'json')).output)
  await becomes(key, '200')
})

test('without a cluster, the command says so', async () => {
  const program = startSluice({ KUBECONFIG: '/nowhere' }, ['keys', 'list'])
  expect([await program.exited, program.output()]).toEqual([
    1,
    expect.stringContaining('cannot connect to a cluster'),
  ])
})
