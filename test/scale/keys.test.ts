/**
 * Thousands of keys: a cold start serves soon, memory stays small, a change is still one record, and no status says Ready
 * too early. SCALE_KEYS sets the number; `make test-all` takes 10,000, `make scale` 100,000. Prints its measurements.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { z } from 'zod'
import { cpuMicros } from '../../bench/processes.ts'
import { type ControlPlane, startControlPlane } from '../../tools/cluster/control-plane.ts'
import { applyCrds } from '../../tools/cluster/crds.ts'
import { mustKubectl } from '../../tools/cluster/kubectl.ts'
import { type Fleet, type Member, metric, startFleet } from '../harness/fleet.ts'
import { ask, askAll, digestOf, startReportingUpstream } from '../harness/fleet-traffic.ts'
import { until } from '../harness/gateway.ts'
import type { FoundResource } from '../harness/kube-http.ts'
import { monitorRedis } from '../harness/redis-monitor.ts'
import type { ScriptedUpstream } from '../harness/upstream.ts'
import { kstatus, program as kstatusProgram } from '../kstatus/kstatus.ts'
import { memoryOf } from './process.ts'

const KEYS = Number(process.env.SCALE_KEYS ?? 2_000)
const ACCOUNTS = 100
const AT_ONCE = 32
const CHANGES = 10
const SERVED = '200 up none m'
const WRITES_PER_SECOND = 200
/** For 100,000 keys or fewer. */
const SERVED_MS = 60_000
const CONTROLLER_MB = 800
/** Between two looks while the machine has much to do. */
const SELDOM_MS = 1_000
/** To create the keys, and to write their statuses. */
const FILL_MS = 300_000 + KEYS * 10
const dir = mkdtempSync(join(tmpdir(), 'sluice-scale-'))
let controlPlane: ControlPlane
let fleet: Fleet
let upstream: ScriptedUpstream
const bearer = (n: number) => `sk-scale-${n}`

beforeAll(async () => {
  kstatusProgram()
  upstream = await startReportingUpstream('up')
  controlPlane = await startControlPlane({ dir })
  await applyCrds(controlPlane.kubectl)
  fleet = await startFleet({ controlPlane })
  const { kube, controllers, proxies } = fleet
  await fleet.stopAll([...controllers, ...proxies])
  await kube.create('Channel', 'main', {
    type: 'chat_completion',
    baseURL: upstream.baseURL,
    auth: { scheme: 'None' },
  })
  await kube.create('ModelRoute', 'm', { model: 'm', channels: [{ name: 'main' }], free: true })
  await forEach(ACCOUNTS, (n) => kube.create('Account', `account-${n}`, { enforcement: 'Unlimited' }))
  await forEach(KEYS, (n) =>
    kube.create('ApiKey', `key-${n}`, {
      hashes: [digestOf(bearer(n))],
      accountRef: { name: `account-${n % ACCOUNTS}` },
    }),
  )
  await fleet.redis.command('FLUSHALL')
}, FILL_MS)
afterAll(async () => {
  await fleet?.stop()
  await controlPlane?.stop()
  await upstream.close()
  rmSync(dir, { recursive: true, force: true })
})

async function forEach(count: number, work: (n: number) => Promise<void>): Promise<void> {
  let next = 0
  const worker = async () => {
    while (next < count) await work(next++)
  }
  await Promise.all(Array.from({ length: AT_ONCE }, worker))
}

/** Milliseconds until every proxy has given this answer. */
async function everywhere(key: string, expected: string, timeoutMs: number, everyMs = 5): Promise<number> {
  const began = performance.now()
  await Promise.all(
    fleet.bases.map((base) =>
      until(
        async () => (await ask(base, key, 'm').catch(() => undefined))?.summary === expected,
        `a proxy to say ${expected}`,
        timeoutMs,
        everyMs,
      ),
    ),
  )
  return performance.now() - began
}

const written = async (leader: Member) =>
  (await metric(leader, 'controller_runtime_reconcile_total{controller="status",result="success"}')) ?? 0

const logLine = z.object({ time: z.iso.datetime(), msg: z.string() })

/** Milliseconds from the first line of a controller's newest log until it had everything and was the leader. */
function syncTime(controller: Member): number {
  const lines = controller.output().split('\n')
  const logged = lines.filter((line) => line.startsWith('{')).map((line) => logLine.parse(JSON.parse(line)))
  const at = (text: string) => Date.parse(logged.findLast(({ msg }) => msg === text)?.time ?? '')
  return at('this controller is now the leader') - at('starting the controller')
}

/** Milliseconds from the API server's answer until a change of a key is in force everywhere. */
async function change(n: number): Promise<number> {
  await fleet.kube.patch('ApiKey', `key-${n}`, { models: ['other'] })
  return everywhere(bearer(n), '403 model_not_allowed', 10_000)
}

describe(`${KEYS} keys`, () => {
  it('are served everywhere soon after a cold start of everything', async () => {
    const { controllers, proxies } = fleet
    const started = fleet.startAll([...controllers, ...proxies])
    const servedMs = await everywhere(bearer(KEYS - 1), SERVED, SERVED_MS, SELDOM_MS)
    await started
    const syncedMs = syncTime(await fleet.leader())
    report({ syncedMs, servedMs })
  }, 180_000)

  it('do not delay a change while their statuses are written', async () => {
    const leader = await fleet.leader()
    const times: number[] = []
    for (let n = 0; n < CHANGES; n++) times.push(await change(n))
    const slowestMs = Math.max(...times)
    report({ slowestWhileWritingMs: slowestMs })
    // Status writes continued throughout.
    expect(await written(leader)).toBeLessThan(KEYS)
  })

  it(
    'have their statuses written at the limited rate, by a small controller',
    async () => {
      const leader = await fleet.leader()
      const began = performance.now()
      const before = await written(leader)
      const all = async () => (await written(leader)) >= KEYS
      await until(all, 'all statuses to be written', FILL_MS, SELDOM_MS)
      const statusesPerSecond = (((await written(leader)) - before) / (performance.now() - began)) * 1_000
      const [standby] = fleet.controllers.filter((member) => member !== leader)
      const { rss, peak } = memoryOf(leader.pid)
      report({ statusesPerSecond, rssMB: rss, peakMB: peak, standbyMB: standby && memoryOf(standby.pid).rss })
      // Plus the few writes saved up while it had less to do.
      expect(statusesPerSecond).toBeLessThan(WRITES_PER_SECOND * 1.25)
      expect(peak).toBeLessThan(CONTROLLER_MB)
    },
    FILL_MS,
  )

  it('keep a change at one record', async () => {
    const leader = await fleet.leader()
    const monitor = await monitorRedis(fleet.redis.port)
    const cpu = cpuMicros(leader.pid)
    const times: number[] = []
    try {
      for (let n = CHANGES; n < 2 * CHANGES; n++) times.push(await change(n))
      const sets = monitor.commands().filter((command) => command.startsWith('set sluice:{cfg}'))
      const wanted = times.map((_, i) => `set sluice:{cfg}:key:${digestOf(bearer(CHANGES + i))}`)
      expect(sets).toEqual(wanted)
    } finally {
      monitor.stop()
    }
    const slowestMs = Math.max(...times)
    report({ slowestMs, cpuMsOfOne: (cpuMicros(leader.pid) - cpu) / 1_000 / CHANGES })
  })
})

describe('what kubectl and Helm wait for', () => {
  const wait = (condition: string, ...resources: string[]) =>
    mustKubectl(fleet.kubectl, 'wait', `--for=condition=${condition}`, '--timeout=120s', ...resources)
  const textOf = async (name: string) =>
    JSON.stringify(
      await fleet.kube.request(
        'GET',
        `/apis/sluice.dev/v1alpha1/namespaces/${fleet.namespace}/apikeys/${name}`,
      ),
    )

  it(
    'every key is ready at last',
    async () => {
      const ready = ({ status, metadata }: FoundResource) =>
        status.conditions.some(
          (one) =>
            one.type === 'Ready' && one.status === 'True' && one.observedGeneration === metadata.generation,
        )
      const late = async () => (await fleet.kube.list('ApiKey')).filter((key) => !ready(key)).length
      await until(async () => (await late()) === 0, 'every key to be ready', FILL_MS, SELDOM_MS)
    },
    FILL_MS,
  )

  it('a key that is ready is served by every proxy', async () => {
    for (let n = 0; n < CHANGES; n++) {
      const bearer = `sk-scale-new-${n}`
      await fleet.kube.create('ApiKey', `new-${n}`, { hashes: [digestOf(bearer)], models: ['m'] })
      await wait('Ready', `apikey/new-${n}`)
      expect(await askAll(fleet.bases, bearer, 'm')).toEqual(fleet.bases.map(() => SERVED))
    }
  }, 180_000)

  it('a change that is ready is in force on every proxy, and a broken one is never current', async () => {
    for (let n = 0; n < CHANGES; n++) {
      const key = `new-${n}`
      await fleet.kube.patch('ApiKey', key, { models: ['other'] })
      const current = async () => kstatus([await textOf(key)])[0] === 'Current'
      await until(current, 'the change to be current', 15_000)
      expect(await askAll(fleet.bases, `sk-scale-${key}`, 'm')).toEqual(
        fleet.bases.map(() => '403 model_not_allowed'),
      )

      await fleet.kube.patch('ApiKey', key, { expiresAt: '2020-01-01T00:00:00Z' })
      const broken: string[] = []
      await until(
        async () => {
          broken.push(await textOf(key))
          return (await fleet.kube.condition('ApiKey', key, 'Ready')) === 'False Expired'
        },
        'the expiry to be reported',
        15_000,
      )
      expect(kstatus(broken)).not.toContain('Current')
    }
  }, 180_000)
})

function report(numbers: Record<string, number | undefined>): void {
  const text = Object.entries(numbers).map(([name, value]) => `${name} ${value?.toFixed(1)}`)
  console.log(`${KEYS} keys: ${text.join(', ')}`)
}
