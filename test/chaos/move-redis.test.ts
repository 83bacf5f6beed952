/** Redis moves to another server in the steps of docs/backup.md, under traffic: nothing is charged twice or lost. */
import { afterAll, beforeAll, expect, it } from 'vitest'
import { controlPlane } from '../harness/control-plane.ts'
import { until } from '../harness/gateway.ts'
import { call, chatBody, jsonHeaders } from '../harness/http.ts'
import { type RunningRedis, startRedis } from '../harness/redis.ts'
import { startSwitch, type TcpSwitch } from '../harness/tcp-switch.ts'
import { PRICE, startWorld, type World } from './world.ts'

const STREAMS = 10

let world: World
let from: RunningRedis
let to: RunningRedis
/** The name that the programs know. */
let name: TcpSwitch
beforeAll(async () => {
  from = await startRedis({ args: ['--appendonly', 'yes'] })
  to = await startRedis({ args: ['--appendonly', 'yes'] })
  name = await startSwitch(from.port)
  const redis = { ...from, url: `redis://127.0.0.1:${name.port}` }
  world = await startWorld({ controlPlane: await controlPlane(), proxies: 2, redis })
}, 120_000)
afterAll(async () => {
  await world?.stop()
  await name?.close()
  await to?.stop()
  await from?.stop()
})

async function replication(redis: RunningRedis): Promise<Record<string, string>> {
  const text = String(await redis.command('INFO', 'replication'))
  return Object.fromEntries([...text.matchAll(/^(\w+):(.*)\r$/gm)].map(([, key, value]) => [key, value]))
}

it('moves with balances, keys and open streams', async () => {
  const { bases } = world.fleet
  const before = await world.charged()
  const headers = jsonHeaders(world.credentials.metered.key)
  const streams = Array.from({ length: STREAMS }, (_, i) =>
    call(`${bases[i % bases.length]}/v1/chat/completions`, {
      headers,
      body: chatBody('slow', { stream: true, max_tokens: 1_000 }),
    }),
  )
  const account = world.account()
  const held = async () => ((await world.store.ledger.balance(account.id))?.held ?? 0) >= STREAMS * PRICE
  await until(held, 'the holds of the streams')
  const traffic = world.traffic()
  await until(() => traffic.of('metered').length > 20, 'traffic')

  await to.command('REPLICAOF', '127.0.0.1', from.port)
  const synced = async () => (await replication(to)).master_link_status === 'up'
  await until(synced, 'the replica', 30_000)
  await from.command('CLIENT', 'PAUSE', 60_000, 'WRITE')
  // Streams that end now cannot be charged yet.
  world.finishStreams()
  for (const { status } of await Promise.all(streams)) expect(status).toBe(200)
  await until(
    async () => (await replication(from)).master_repl_offset === (await replication(to)).slave_repl_offset,
    'the last writes',
  )
  await to.command('REPLICAOF', 'NO', 'ONE')
  const since = performance.now()
  name.lead(to.port)
  await from.kill()

  const served = () => traffic.of('metered', since).filter(({ status }) => status === 200)
  await until(() => served().length > 20, 'requests on the new server', 20_000)
  console.log(`served from the new server after ${Math.round(performance.now() - since)} ms`)
  const victim = await world.createVictim()
  await world.expectInForce(await world.edit(victim))
  await world.expectHealthy()
  const { served: all } = await traffic.stop()
  traffic.expectRight()
  await world.expectCharged(before, all + STREAMS)
  expect((await world.store.ledger.balance(account.id))?.credited).toBe(world.credit)
}, 120_000)
