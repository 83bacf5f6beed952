/** An upstream that fails under real traffic shows in the status of its Channel, and so does its recovery. */
import { afterAll, beforeAll, expect, it } from 'vitest'
import { controlPlane } from '../../harness/control-plane.ts'
import { type Fleet, startFleet } from '../../harness/fleet.ts'
import { ask, digestOf, startReportingUpstream } from '../../harness/fleet-traffic.ts'
import { until } from '../../harness/gateway.ts'
import { json, type ScriptedUpstream } from '../../harness/upstream.ts'

const KEY = 'sk-health'
let fleet: Fleet
let good: ScriptedUpstream
let bad: ScriptedUpstream
let fails = true

beforeAll(async () => {
  good = await startReportingUpstream('good')
  bad = await startReportingUpstream('bad')
  bad.answer((_call, res) => {
    const message = { role: 'assistant', content: 'bad none m' }
    if (fails) json(res, 500, { error: { message: 'out of order' } })
    else
      json(res, 200, {
        id: 'c',
        object: 'chat.completion',
        choices: [{ index: 0, message, finish_reason: 'stop' }],
      })
  })
  fleet = await startFleet({ controlPlane: await controlPlane() })
  const { kube, bases } = fleet
  const channel = { type: 'chat_completion', auth: { scheme: 'None' } }
  await kube.create('Channel', 'good', { ...channel, baseURL: good.baseURL })
  await kube.create('Channel', 'bad', {
    ...channel,
    baseURL: bad.baseURL,
    ejection: { consecutiveFailures: 1, interval: '1s', maxInterval: '1s' },
  })
  await kube.create('ModelRoute', 'm', {
    model: 'm',
    channels: [{ name: 'bad' }, { name: 'good', priority: 1 }],
    free: true,
  })
  await kube.create('ApiKey', 'health', { hashes: [digestOf(KEY)] })
  await until(
    async () => (await Promise.all(bases.map((base) => serves(base)))).every(Boolean),
    'every proxy to serve',
  )
}, 120_000)
afterAll(async () => {
  await fleet?.stop()
  await good?.close()
  await bad?.close()
})

async function serves(base: string): Promise<boolean> {
  return (await ask(base, KEY, 'm')).status === 200
}

const health = (name: string) => fleet.kube.condition('Channel', name, 'Healthy')

it('is Healthy=False while attempts fail, and requests are still answered', async () => {
  const [base = ''] = fleet.bases
  await until(async () => {
    expect((await ask(base, KEY, 'm')).summary).toBe('200 good none m')
    return (await health('bad')) === 'False Ejected'
  }, 'the status to say that the channel is ejected')
  const { stdout } = await fleet.kubectl('get', 'channel/bad', '-o=jsonpath={.status.health}')
  expect(JSON.parse(stdout)).toMatchObject({ lastFailure: 'transient', proxies: fleet.proxies.length })
  expect(await health('good')).toBe('True Healthy')
  // Health is separate from Ready: the resource itself is valid.
  expect(await fleet.kube.condition('Channel', 'bad', 'Ready')).toBe('True Ready')
}, 120_000)

it('is Healthy=True once an attempt has succeeded, and health leaves its status', async () => {
  fails = false
  await until(async () => {
    for (const base of fleet.bases) await ask(base, KEY, 'm')
    return (await health('bad')) === 'True Healthy'
  }, 'the status to say that it is healthy')
  const { stdout } = await fleet.kubectl('get', 'channel/bad', '-o=jsonpath={.status.health}')
  expect(stdout).toBe('')
}, 120_000)
