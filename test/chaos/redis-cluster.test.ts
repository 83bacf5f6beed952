/** A Redis Cluster with one node killed: without a replica it comes back, with one its replica takes over. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { accountKeys, TABLE } from '../../store/keys.ts'
import { controlPlane } from '../harness/control-plane.ts'
import { until } from '../harness/gateway.ts'
import { type RunningCluster, type RunningRedis, startRedisCluster } from '../harness/redis.ts'
import { ROUNDS, startWorld, type World } from './world.ts'

const AWAY_MS = 3_500

let cluster: RunningCluster
let world: World
async function begin(withReplicas: boolean): Promise<void> {
  cluster = await startRedisCluster({ args: ['--appendonly', 'yes'], withReplicas })
  const [first] = cluster.nodes
  if (first === undefined) throw new Error('there is no node')
  const redis = { ...first, url: cluster.url }
  world = await startWorld({ controlPlane: await controlPlane(), proxies: withReplicas ? 3 : 2, redis })
}
beforeAll(() => begin(false), 90_000)
afterAll(async () => {
  await world?.stop()
  await cluster?.stop()
})

/** The node that has this key. */
async function nodeOf(key: string): Promise<RunningRedis> {
  for (const node of [...cluster.nodes, ...cluster.replicas]) {
    const found = await node.command('EXISTS', key).catch(() => 0)
    if (found === 1) return node
  }
  throw new Error(`no node has ${key}`)
}

const NODES: [string, () => string][] = [
  ['the tables', () => TABLE],
  ['the account', () => accountKeys(world.account().id).bal],
]

describe.each(ROUNDS)('round %i', () => {
  it.each(NODES)(
    'kill -9 of the node with %s',
    async (_, key) => {
      const node = await nodeOf(key())
      const victim = await world.createVictim()
      const before = await world.charged()
      const traffic = world.traffic()
      await until(() => traffic.of('metered').length > 20, 'traffic')
      await node.kill()
      const since = performance.now()
      const edit = world.edit(victim)
      try {
        await until(() => performance.now() - since > AWAY_MS, 'the fault to last')
      } finally {
        await node.restart()
      }
      const back = performance.now()
      await world.expectInForce(await edit, 30_000)
      await world.expectHealthy(30_000)
      console.log(`recovered after ${Math.round(performance.now() - back)} ms`)
      // Of other accounts than the traffic's, all nodes together know no more than before.
      await until(() => traffic.of('metered', back).some(({ status }) => status === 200), 'metered requests')
      const { served } = await traffic.stop()
      traffic.expectRight()
      await world.expectCharged(before, served)
    },
    90_000,
  )

  it('refuses metered callers while the node with their account is down', async () => {
    const node = await nodeOf(accountKeys(world.account().id).bal)
    const traffic = world.traffic()
    await until(() => traffic.of('metered').length > 20, 'traffic')
    await node.kill()
    const since = performance.now()
    try {
      const refused = () => traffic.of('metered', since).filter(({ status }) => status === 503)
      await until(() => refused().length > 20, 'refusals')
      traffic.expectUnavailable(since)
      const unmetered = traffic.of('unmetered', since).map(({ status }) => status)
      expect([...new Set(unmetered)]).toEqual([200])
    } finally {
      await node.restart()
    }
    await world.expectHealthy(30_000)
    await traffic.stop()
    traffic.expectRight()
  })
})

describe('with replicas', () => {
  beforeAll(async () => {
    await world.stop()
    await cluster.stop()
    await begin(true)
  }, 120_000)

  it.each(NODES)(
    'kill -9 of the primary with %s: its replica takes over, and every request is charged once',
    async (_, key) => {
      await until(() => cluster.mayLoseOne(), 'every primary to have a replica', 60_000)
      const before = await world.charged()
      const traffic = world.traffic()
      await until(() => traffic.of('metered').length > 20, 'traffic')
      const node = await nodeOf(key())
      await node.kill()
      const since = performance.now()
      const served = () => traffic.of('metered', since + 2_000).filter(({ status }) => status === 200)
      await until(() => served().length > 20, 'metered requests to be served again', 60_000)
      console.log(`served again after ${Math.round((served()[0]?.sentAt ?? since) - since)} ms`)
      await node.restart()
      await world.expectHealthy(60_000)
      const { served: all } = await traffic.stop()
      traffic.expectRight()
      await world.expectCharged(before, all)
    },
    180_000,
  )
})
