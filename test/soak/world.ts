/** Three proxies, two controllers, a Redis with a replica, and an upstream that keeps its own bill. */

import { type BillingUpstream, startBillingUpstream } from '../harness/billing-upstream.ts'
import { controlPlane } from '../harness/control-plane.ts'
import { type Fleet, startFleet } from '../harness/fleet.ts'
import { digestOf } from '../harness/fleet-traffic.ts'
import { IMPATIENT, type RunningRedis, startRedis } from '../harness/redis.ts'
import { startSwitch, type TcpSwitch } from '../harness/tcp-switch.ts'

export const DIALECTS = { chat: 'chat_completion', responses: 'responses', messages: 'messages' } as const
export type Dialect = keyof typeof DIALECTS
export const ACCOUNTS = ['red', 'green', 'blue'] as const
export const keyOf = (account: string) => `sk-soak-of-${account}`
export const modelOf = (dialect: Dialect) => `model-${dialect}`

/** A micro-dollar for a token of the prompt, four for one of the answer. */
const PRICE = { input: '1', output: '4' }
/** In nano-dollars. */
export const costOf = ({ input, output }: { input: number; output: number }) => input * 1_000 + output * 4_000
const FIRST_CREDIT = 100

/** Each case has a prompt of another size, so that its entry in the ledger is known by its tokens. */
const SMALLEST = 1_000
export const inputOf = (id: string) => SMALLEST + Number(id.slice(1))

export interface World {
  fleet: Fleet
  upstream: BillingUpstream
  redis: RedisPair
  /** The sum of the Credits of an account so far, in nano-dollars. */
  credited: Map<string, number>
  /** Creates one more Credit of a dollar for each account. */
  addCredits(): Promise<void>
  stop(): Promise<void>
}

/** The server in use and its replica. */
export interface RedisPair {
  primary: RunningRedis
  replica: RunningRedis
  /** Clients connect here. */
  address: TcpSwitch
  /** The replica follows the primary through this. */
  link: TcpSwitch
}

export async function startWorld(): Promise<World> {
  const args = ['--appendonly', 'yes']
  const [primary, replica] = await Promise.all([startRedis({ args }), startRedis({ args })])
  const [address, link] = await Promise.all([startSwitch(primary.port), startSwitch(primary.port)])
  const redis: RedisPair = { primary, replica, address, link }
  await follow(redis)
  const upstream = await startBillingUpstream(inputOf)
  const fleet = await startFleet({
    controlPlane: await controlPlane(),
    redis: { ...primary, url: `redis://127.0.0.1:${address.port}` },
    env: { ...IMPATIENT, SLUICE_LEASE_DURATION: '3s', SLUICE_JOURNAL: 'stdout' },
  })
  const { kube } = fleet
  const credited = new Map<string, number>(ACCOUNTS.map((name) => [name, 0]))
  let credits = 0
  const credit = async (account: string, dollars: number) => {
    const name = `credit-${account}-${credits++}`
    await kube.create('Credit', name, { accountRef: { name: account }, amount: String(dollars) })
    credited.set(account, (credited.get(account) ?? 0) + dollars * 1e9)
  }
  for (const name of ACCOUNTS) {
    await kube.create('Account', name, {})
    await credit(name, FIRST_CREDIT)
    await kube.create('ApiKey', name, { hashes: [digestOf(keyOf(name))], accountRef: { name } })
  }
  for (const [dialect, type] of Object.entries(DIALECTS) as [Dialect, string][]) {
    const name = modelOf(dialect)
    const baseURL = dialect === 'messages' ? upstream.origin : `${upstream.origin}/v1`
    const profile = dialect === 'messages' ? 'anthropic' : 'openai-reasoning'
    await kube.create('Channel', name, { type, baseURL, profile, onDisconnect: 'Drain' })
    const route = { model: name, channels: [{ name }], price: PRICE, retry: { attempts: 1 } }
    await kube.create('ModelRoute', name, route)
  }
  return {
    fleet,
    upstream,
    redis,
    credited,
    addCredits: () => Promise.all(ACCOUNTS.map((name) => credit(name, 1))).then(() => undefined),
    async stop() {
      for (const { resume } of [...fleet.controllers, ...fleet.proxies, redis.primary]) resume()
      await fleet.stop()
      await upstream.close()
      await Promise.all([address.close(), link.close()])
      await Promise.all([redis.primary.stop(), redis.replica.stop()])
    },
  }
}

/** Makes the replica follow the primary. */
export async function follow({ replica, primary, link }: RedisPair): Promise<void> {
  link.lead(primary.port)
  await replica.command('REPLICAOF', '127.0.0.1', link.port)
}
