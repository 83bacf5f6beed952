/** What breaks under the load, one after another. Each ends when its servers run again. */
import { follow, type World } from './world.ts'

/** How long a fault lasts, or how much traffic is lost by it. */
const FAULT_MS = 3_000
const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms))

export interface Killed {
  /** Name of a proxy. */
  proxy: string
  /** performance.now() */
  at: number
}

/** Adds a proxy that it kills to `killed`. */
type Fault = (world: World, killed: Killed[]) => Promise<void>

export const FAULTS: Record<string, Fault> = {
  async 'Redis is killed'({ redis }) {
    await redis.primary.kill()
    await pause(FAULT_MS)
    await redis.primary.restart()
  },
  async 'Redis hangs'({ redis }) {
    redis.primary.pause()
    await pause(FAULT_MS)
    redis.primary.resume()
  },
  async 'all connections to Redis break'({ redis }) {
    redis.address.lead(redis.primary.port)
  },
  async 'Redis is emptied'({ redis }) {
    await redis.primary.command('FLUSHALL')
  },
  async 'an older copy of Redis is restored'({ redis }) {
    redis.primary.copyFiles()
    await pause(2 * FAULT_MS)
    await redis.primary.restartFromCopy()
  },
  async 'a replica that lags behind is promoted'({ redis }) {
    redis.link.lead(undefined)
    await pause(FAULT_MS)
    await redis.replica.command('REPLICAOF', 'NO', 'ONE')
    redis.address.lead(redis.replica.port)
    const { primary, replica } = redis
    Object.assign(redis, { primary: replica, replica: primary })
    await redis.replica.restart()
    await follow(redis)
  },
  async 'the leader is killed'({ fleet }) {
    const leader = await fleet.leader()
    leader.kill('SIGKILL')
    await leader.exited
    await leader.restart()
  },
  async 'a proxy is killed'({ fleet }, killed) {
    const [proxy] = fleet.proxies.toSorted(() => Math.random() - 0.5)
    if (proxy === undefined) return
    killed.push({ proxy: proxy.name, at: performance.now() })
    proxy.kill('SIGKILL')
    await proxy.exited
    await proxy.restart()
  },
  async 'a proxy is stopped'({ fleet }) {
    const [proxy] = fleet.proxies.toSorted(() => Math.random() - 0.5)
    proxy?.kill('SIGTERM')
    await proxy?.exited
    await proxy?.restart()
  },
}
