/** Ready means ready: once `kubectl wait` returns, every proxy serves it; once withdrawn, no proxy does. */
import { setImmediate as nextTurn } from 'node:timers/promises'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { controlPlane } from '../../harness/control-plane.ts'
import { type Fleet, startFleet } from '../../harness/fleet.ts'
import {
  ask,
  askAll,
  type ChatResult,
  digestOf,
  startReportingUpstream,
} from '../../harness/fleet-traffic.ts'
import { until } from '../../harness/gateway.ts'
import type { ScriptedUpstream } from '../../harness/upstream.ts'

const ROUNDS = 50
let fleet: Fleet
let upstream: ScriptedUpstream

beforeAll(async () => {
  upstream = await startReportingUpstream('up')
  fleet = await startFleet({ controlPlane: await controlPlane() })
  const { kube } = fleet
  await kube.create('Channel', 'main', {
    type: 'chat_completion',
    baseURL: upstream.baseURL,
    auth: { scheme: 'None' },
  })
  await kube.create('ModelRoute', 'm', { model: 'm', channels: [{ name: 'main' }], free: true })
  await kube.create('ApiKey', 'base', { hashes: [digestOf('sk-base')] })
  await until(
    async () => (await askAll(fleet.bases, 'sk-base', 'm')).every((summary) => summary === '200 up none m'),
    'every proxy to serve',
  )
}, 120_000)
afterAll(async () => {
  await fleet?.stop()
  await upstream.close()
})

it(`agrees with kubectl wait in ${ROUNDS} rounds`, async () => {
  const { kube, kubectl, bases } = fleet
  const disagreements: string[] = []
  for (let round = 0; round < ROUNDS; round++) {
    // In turn: a changed table, a new key, a changed key.
    const kind = round % 3
    const [what, name, key, model, expected] =
      kind === 0
        ? (['modelroute', 'm', 'sk-base', 'm', `200 up none target-${round}`] as const)
        : kind === 1
          ? (['apikey', `key-${round}`, `sk-${round}`, 'm', `200 up none target-${round - 1}`] as const)
          : (['apikey', `key-${round - 1}`, `sk-${round - 1}`, 'm', '403 model_not_allowed'] as const)
    if (kind === 0)
      await kube.patch('ModelRoute', 'm', { channels: [{ name: 'main', model: `target-${round}` }] })
    else if (kind === 1) await kube.create('ApiKey', name, { hashes: [digestOf(key)] })
    else await kube.patch('ApiKey', name, { models: ['other'] })
    const waited = await kubectl('wait', '--for=condition=Ready', '--timeout=15s', `${what}/${name}`)
    expect(waited.status, waited.stderr).toBe(0)
    const answers = await askAll(bases, key, model)
    if (answers.some((answer) => answer !== expected))
      disagreements.push(`${round}: ${answers.join(', ')} instead of ${expected}`)
  }
  expect(disagreements).toEqual([])
}, 180_000)

it('is not Ready while a live proxy does not serve it', async () => {
  const { kube, kubectl, proxies, bases } = fleet
  const [hesitant] = proxies
  const ready = () => kube.condition('ModelRoute', 'm', 'Ready')
  const message = "-o=jsonpath={.status.conditions[?(@.type=='Ready')].message}"
  const routeMessage = async () => (await kubectl('get', 'modelroute/m', message)).stdout
  hesitant?.pause()
  try {
    await kube.patch('ModelRoute', 'm', { channels: [{ name: 'main', model: 'late' }] })
    await until(
      async () =>
        (await askAll(bases.slice(1), 'sk-base', 'm')).every((summary) => summary === '200 up none late'),
      'the others to serve it',
    )
    // The others have reported; the paused proxy counts as alive for some seconds.
    await until(
      async () => (await routeMessage()).includes('not every live proxy serves'),
      'a condition that says so',
    )
    expect(await ready()).toBe('False Pending')
  } finally {
    hesitant?.resume()
  }
  await until(async () => (await ready()) === 'True Ready', 'it to be Ready')
  expect(await askAll(bases, 'sk-base', 'm')).toEqual(bases.map(() => '200 up none late'))
})

it('accepts no request with a key disabled a second before', async () => {
  const { kube, bases } = fleet
  const key = 'sk-under-load'
  await kube.create('ApiKey', 'under-load', { hashes: [digestOf(key)] })
  await until(
    async () => (await askAll(bases, key, 'm')).every((summary) => summary.startsWith('200')),
    'the key to be served',
  )
  const answers: ChatResult[] = []
  let disabledAt = Number.POSITIVE_INFINITY
  let failed: unknown
  const load = bases.flatMap((base) =>
    Array.from({ length: 4 }, async () => {
      try {
        while (performance.now() < disabledAt + 2_000) {
          answers.push(await ask(base, key, 'm'))
          await nextTurn()
        }
      } catch (error) {
        failed = error
      }
    }),
  )
  await until(() => answers.length > 300, 'load')
  await kube.patch('ApiKey', 'under-load', { disabled: true })
  disabledAt = performance.now()
  await Promise.all(load)
  expect(failed).toBeUndefined()
  const late = answers.filter(({ sentAt }) => sentAt > disabledAt + 1_000)
  expect(late.length).toBeGreaterThan(30)
  expect(new Set(late.map(({ summary }) => summary))).toEqual(new Set(['401 unauthorized']))
  // Until then each request was served or refused, nothing else.
  const early = answers.filter(({ endedAt }) => endedAt < disabledAt - 50)
  expect(early.length).toBeGreaterThan(30)
  expect(early.filter(({ status }) => status !== 200)).toEqual([])
  expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200, 401]))
})
