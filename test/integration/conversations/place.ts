/** Two proxies on one Redis, with upstreams of each type whose answers list the messages they were sent. */

import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { connect, createServer, type Socket } from 'node:net'
import pino from 'pino'
import { readEnvironment } from '../../../contract/env.ts'
import type { Log } from '../../../contract/log.ts'
import type { TableRecord } from '../../../contract/table/records.ts'
import { testPrice } from '../../../proxy/ledger/testing.ts'
import { startProxy } from '../../../proxy/main.ts'
import { testChannel, testRoute, testTable } from '../../../proxy/table/testing.ts'
import { createRedisStore } from '../../../store/redis/index.ts'
import { readKeyRing } from '../../../store/sealing.ts'
import { until } from '../../harness/gateway.ts'
import { type Clock, PATIENT } from '../../harness/redis.ts'
import { startWorld, type TestProxy, type World } from '../proxy/world.ts'
import { type Speaker, startSpeaker } from './speaker.ts'

/** Channels by name. Two keep conversations on their own. */
export const CHANNELS = {
  chat: 'chat_completion',
  messages: 'messages',
  first: 'responses',
  second: 'responses',
} as const
export type ChannelName = keyof typeof CHANNELS
export const NAMES = Object.keys(CHANNELS) as ChannelName[]
export const KEEPING: readonly ChannelName[] = ['first', 'second']
/** One model per way of continuing: the gateway keeps the conversation, or the upstream does. */
export const ONE_OF_EACH: readonly ChannelName[] = ['chat', 'messages', 'first']

/** Dollars per million tokens of the models `paid-…`. */
export const DOLLARS = { input: '1', output: '2' }

const SILENT: Log = { info: () => undefined, warn: () => undefined, error: () => undefined }
const TIMEOUTS = { connect: 5_000, firstByte: 60_000, idle: 60_000, total: 60_000 }

export interface LoggingProxy extends TestProxy {
  /** Lines of its request log. */
  requests: string[]
}

export interface Place {
  world: World
  speakers: Record<ChannelName, Speaker>
  one: LoggingProxy
  two: LoggingProxy
  /** `url`: of Redis, if the proxy reaches it through another address. */
  startProxy(env?: Record<string, string>, url?: string): Promise<LoggingProxy>
  /** Publishes everything; resolves when all proxies serve it. `any`: the channels of the model of that name. */
  publish(any?: readonly ChannelName[]): Promise<void>
  stop(): Promise<void>
}

/**
 * One model per channel, under its name and, priced, as `paid-…`; `any` has all channels, and `session` keeps
 * sessions on their channel.
 */
export async function startPlace(
  options: { clock?: Clock; env?: Record<string, string> } = {},
): Promise<Place> {
  const world = await startWorld({ ...(options.clock && { clock: options.clock }) })
  const started = await Promise.all(NAMES.map(startSpeaker))
  const speakers = Object.fromEntries(started.map((one) => [one.name, one])) as Record<ChannelName, Speaker>
  const proxies = new Set<LoggingProxy>()
  let count = 0

  const start = async (env: Record<string, string> = {}, url = world.redis.url): Promise<LoggingProxy> => {
    count += 1
    const log: string[] = []
    const requests: string[] = []
    const sealing = readKeyRing(world.sealingKeys, SILENT)
    const { env: settings } = readEnvironment({
      SLUICE_PORT: '0',
      SLUICE_ADMIN_PORT: '0',
      SLUICE_HOST: '127.0.0.1',
      ...PATIENT,
      ...options.env,
      ...env,
    })
    const instance = `test-${count}`
    const commandTimeoutMs = settings.SLUICE_REDIS_TIMEOUT
    const store = createRedisStore({ url, sealing, log: SILENT, instance, commandTimeoutMs })
    const running = await startProxy({
      store,
      env: settings,
      instance,
      log: pino({ level: 'debug' }, { write: (line) => void log.push(line) }),
      writeRequestLog: (line) => void requests.push(line),
    })
    const proxy: LoggingProxy = {
      running,
      base: `http://127.0.0.1:${running.port}`,
      admin: `http://127.0.0.1:${running.adminPort}`,
      log,
      requests,
      async stop(graceMs = 0) {
        if (!proxies.delete(proxy)) return
        await running.stop(graceMs)
        await store.close()
      },
    }
    proxies.add(proxy)
    await until(() => running.status().ready, 'the proxy to be ready')
    return proxy
  }
  const publish = async (any: readonly ChannelName[] = NAMES) => {
    world.table = tableOf(speakers, any)
    const generation = await world.publish()
    const serves = ({ running }: LoggingProxy) => running.status().generation >= generation
    await until(() => [...proxies].every(serves), 'the table on all proxies')
  }
  await publish()
  const [one, two] = [await start(), await start()]
  return {
    world,
    speakers,
    one,
    two,
    startProxy: start,
    publish,
    async stop() {
      world.redis.resume()
      await Promise.all([...proxies].map((proxy) => proxy.stop()))
      await Promise.all(started.map((speaker) => speaker.close()))
      await world.stop()
    },
  }
}

function tableOf(speakers: Record<ChannelName, Speaker>, any: readonly ChannelName[]): TableRecord {
  const targets = (names: readonly ChannelName[]) =>
    names.map((channel) => ({ channel, priority: 0, weight: 1 }))
  const price = testPrice(DOLLARS)
  const routes = NAMES.flatMap((name) => [
    testRoute(name, { name, targets: targets([name]) }),
    testRoute(`paid-${name}`, { name: `paid-${name}`, targets: targets([name]), free: false, price }),
  ])
  const session = {
    name: 'session',
    targets: targets(NAMES),
    affinity: { mode: 'Session', ttlMs: 3_600_000 },
  } as const
  const channels = NAMES.map((name) => {
    const channel = testChannel(name, CHANNELS[name])
    const { baseURL: base } = speakers[name]
    const baseURL = name === 'messages' ? base.replace(/\/v1$/, '') : base
    const ejection = { ...channel.ejection, consecutiveFailures: 0 }
    return [name, { ...channel, baseURL, ejection, timeoutsMs: TIMEOUTS }] as const
  })
  return testTable(
    [
      ...routes,
      testRoute('any', { name: 'any', targets: targets(any) }),
      testRoute('keeping', { name: 'keeping', targets: targets(KEEPING) }),
      testRoute('session', session),
    ],
    Object.fromEntries(channels),
  )
}

export interface Line {
  url: string
  close(): Promise<void>
}

/** A connection to a server on loopback with this delay in each direction. */
export async function longLine(port: number, ms: number): Promise<Line> {
  const sockets = new Set<Socket>()
  const pass = (from: Socket, to: Socket) => {
    sockets.add(from)
    from.on('data', (chunk) => void setTimeout(() => to.write(chunk), ms))
    from.on('close', () => to.destroy())
    from.on('error', () => to.destroy())
  }
  const server = createServer((near) => {
    const far = connect(port, '127.0.0.1')
    pass(near, far)
    pass(far, near)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    url: `redis://127.0.0.1:${(server.address() as AddressInfo).port}`,
    async close() {
      for (const socket of sockets) socket.destroy()
      server.close()
      await once(server, 'close')
    },
  }
}
