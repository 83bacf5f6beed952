/** An API server, and its etcd, that are killed. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type ControlPlane, startControlPlane } from '../../tools/cluster/control-plane.ts'
import { applyCrds } from '../../tools/cluster/crds.ts'
import { metric } from '../harness/fleet.ts'
import { until } from '../harness/gateway.ts'
import { ROUNDS, startWorld, type World } from './world.ts'

const AWAY_MS = 3_000
/** A watch retries after at most 5 s; the rest is for a server that has just started. */
const IN_FORCE_MS = 15_000
/** A controller that retries ten times a second on each of its watches would send more. */
const MOST_REQUESTS = 200

let dir: string
let controlPlane: ControlPlane
let world: World
beforeAll(async () => {
  dir = mkdtempSync(join(tmpdir(), 'sluice-chaos-'))
  controlPlane = await startControlPlane({ dir })
  await applyCrds(controlPlane.kubectl)
  // The usual leader: a short outage of the API server costs no controller the Lease.
  world = await startWorld({ controlPlane, proxies: 2, env: { SLUICE_LEASE_DURATION: '15s' } })
}, 90_000)
afterAll(async () => {
  await world?.stop()
  await controlPlane?.stop()
  rmSync(dir, { recursive: true, force: true })
})

/** Requests that all controllers have sent to the API server, answered or not. */
async function requests(): Promise<number> {
  const texts = world.fleet.controllers.map(async ({ admin }) => (await fetch(`${admin}/metrics`)).text())
  const lines = (await Promise.all(texts)).flatMap((text) => text.split('\n'))
  const counts = lines.filter((line) => line.startsWith('rest_client_requests_total{method="GET"'))
  return counts.reduce((sum, line) => sum + Number(line.slice(line.lastIndexOf(' '))), 0)
}

const FAULTS: [string, ('apiserver' | 'etcd')[]][] = [
  ['the API server', ['apiserver']],
  ['the API server and etcd', ['apiserver', 'etcd']],
]

describe.each(ROUNDS)('round %i', () => {
  it.each(FAULTS)(
    'kill -9 of %s: everything is served, and later changes take effect',
    async (_, names) => {
      const leader = await world.fleet.leader()
      const victim = await world.createVictim()
      const before = await world.charged()
      const traffic = world.traffic()
      await until(() => traffic.of('metered').length > 20, 'traffic')
      const sent = await requests()
      const { generation } = await world.store.config.position()
      const processes = names.map((name) => controlPlane.processes[name])
      for (const process of processes) process.kill('SIGKILL')
      await Promise.all(processes.map(({ exited }) => exited))
      const since = performance.now()
      await until(() => performance.now() - since > AWAY_MS, 'the fault to last')
      // etcd first, as the API server waits for it.
      for (const process of processes.reverse()) await process.restart()
      const metered = traffic.of('metered', since)
      // A starting server takes all processors, so a hold may time out.
      expect(metered.filter(({ status }) => status === 200).length).toBeGreaterThan(metered.length * 0.9)
      // Nothing was taken for deleted meanwhile.
      expect((await world.store.config.position()).generation).toBe(generation)
      const back = performance.now()
      await world.expectInForce(await world.edit(victim), IN_FORCE_MS)
      console.log(`in force ${Math.round(performance.now() - back)} ms after the return`)
      await world.expectHealthy()
      const requested = (await requests()) - sent
      console.log(`${requested} reads`)
      expect(requested).toBeLessThan(MOST_REQUESTS)
      expect(await metric(leader, 'sluice_controller_leader')).toBe(1)
      const { served } = await traffic.stop()
      traffic.expectRight()
      await world.expectCharged(before, served)
    },
    90_000,
  )
})
