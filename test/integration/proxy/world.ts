/** Proxies on a real Redis, with the test in place of the controller. */
import { randomBytes } from 'node:crypto'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import pino from 'pino'
import { readEnvironment } from '../../../contract/env.ts'
import { keyHash } from '../../../contract/ids.ts'
import type { Log } from '../../../contract/log.ts'
import type { AccountRecord, KeyRecord, TableRecord } from '../../../contract/table/records.ts'
import { testAccount, testKey } from '../../../proxy/auth/testing.ts'
import { testPrice } from '../../../proxy/ledger/testing.ts'
import { type RunningProxy, startProxy } from '../../../proxy/main.ts'
import { testChannel, testRoute, testTable } from '../../../proxy/table/testing.ts'
import type { Publication, Store } from '../../../store/contract.ts'
import { createRedisStore } from '../../../store/redis/index.ts'
import { readKeyRing } from '../../../store/sealing.ts'
import { until } from '../../harness/gateway.ts'
import { type Answer, call, chatBody, jsonHeaders } from '../../harness/http.ts'
import { type Clock, PATIENT, type RunningRedis, startRedis } from '../../harness/redis.ts'
import { type ScriptedUpstream, startUpstream } from '../../harness/upstream.ts'

/** Keys of both kinds of caller, and an unknown one. */
export const UNMETERED = 'sk-without-an-account'
export const METERED = 'sk-with-an-account'
export const UNKNOWN = 'sk-unknown'
export const ACCOUNT = 'aaaaaaaaaaaaaaaaaaaa'
/** The cost of a request of METERED, in nano-dollars. */
export const PRICE = 1_000

const SILENT: Log = { info: () => undefined, warn: () => undefined, error: () => undefined }
const TIMEOUTS = { connect: 5_000, firstByte: 60_000, idle: 60_000, total: 60_000 }

export interface TestProxy {
  running: RunningProxy
  base: string
  admin: string
  /** Lines of its program log. */
  log: string[]
  /** Breaks its connections without closing them properly, as a killed process does. */
  stop(graceMs?: number): Promise<void>
}

export interface World {
  redis: RunningRedis
  upstream: ScriptedUpstream
  /** As the controller has it. */
  store: Store
  sealingKeys: string
  /** Everything published. */
  table: TableRecord
  keys: Map<string, KeyRecord>
  accounts: Map<string, AccountRecord>
  /** Publishes the given records, or all, under the next generation. */
  publish(changes?: Pick<Partial<Publication>, 'table' | 'keys' | 'accounts'>): Promise<number>
  /** Starts a new epoch and publishes everything. */
  lead(): Promise<void>
  /** Resolves when it listens and, by default, is ready. */
  startProxy(options?: { ready?: boolean; env?: Record<string, string> }): Promise<TestProxy>
  stop(): Promise<void>
}

/** The account of METERED has money unless `funds` is 0. */
export async function startWorld(
  options: { clock?: Clock; args?: string[]; funds?: number } = {},
): Promise<World> {
  const redis = await startRedis(options)
  const upstream = await startUpstream()
  const dir = mkdtempSync(join(tmpdir(), 'sluice-world-'))
  const sealingKeys = join(dir, 'sealing.keys')
  writeFileSync(sealingKeys, `k1:${randomBytes(32).toString('base64')}\n`, { mode: 0o600 })
  const sealing = readKeyRing(sealingKeys, SILENT)
  const connect = (instance: string, commandTimeoutMs?: number) =>
    createRedisStore({ url: redis.url, sealing, log: SILENT, instance, commandTimeoutMs })
  const store = connect('controller')
  const proxies = new Set<TestProxy>()
  let epoch = 0
  let generation = 0
  let started = 0

  const world: World = {
    redis,
    upstream,
    store,
    sealingKeys,
    table: tableOf(upstream.baseURL, 'free'),
    keys: new Map([
      [keyHash(UNMETERED), testKey({ id: 'kkkkkkkkkkkkkkkkkkk1', name: 'unmetered' })],
      [keyHash(METERED), testKey({ id: 'kkkkkkkkkkkkkkkkkkk2', name: 'metered', account: ACCOUNT })],
    ]),
    accounts: new Map([[ACCOUNT, testAccount({ id: ACCOUNT })]]),
    async publish(changes) {
      generation += 1
      const nothing = { put: new Map(), remove: [] }
      const all = {
        table: world.table,
        keys: { put: world.keys, remove: [] },
        accounts: { put: world.accounts, remove: [] },
      }
      const reply = await store.config.publish({
        epoch,
        generation,
        keys: nothing,
        accounts: nothing,
        ...(changes ?? all),
      })
      if (reply !== 'published') throw new Error(`publish was answered ${reply}`)
      return generation
    },
    async lead() {
      epoch = await store.config.newEpoch(epoch)
      await world.publish()
    },
    async startProxy({ ready = true, env = {} } = {}) {
      const log: string[] = []
      started += 1
      const settings = readEnvironment({
        SLUICE_PORT: '0',
        SLUICE_ADMIN_PORT: '0',
        SLUICE_HOST: '127.0.0.1',
        ...PATIENT,
        ...env,
      }).env
      const own = connect('proxy', settings.SLUICE_REDIS_TIMEOUT)
      const running = await startProxy({
        store: own,
        env: settings,
        instance: `proxy-${started}`,
        log: pino({ level: 'debug' }, { write: (line) => void log.push(line) }),
        writeRequestLog: () => undefined,
      })
      const proxy: TestProxy = {
        running,
        base: `http://127.0.0.1:${running.port}`,
        admin: `http://127.0.0.1:${running.adminPort}`,
        log,
        async stop(graceMs = 0) {
          if (!proxies.delete(proxy)) return
          await running.stop(graceMs)
          await own.close()
        },
      }
      proxies.add(proxy)
      if (ready) await until(() => running.status().ready, 'the proxy to be ready')
      return proxy
    },
    async stop() {
      redis.resume()
      await Promise.all([...proxies].map((proxy) => proxy.stop()))
      await store.close()
      await redis.stop()
      await upstream.close()
      rmSync(dir, { recursive: true, force: true })
    },
  }
  await until(() => store.config.position().catch(() => undefined), 'the store to answer')
  await world.lead()
  await fund(world, options.funds ?? 1_000_000_000)
  return world
}

export async function fund({ store }: World, amount: number): Promise<void> {
  await store.ledger.open({ account: ACCOUNT, epoch: 1, create: true })
  if (amount !== 0) await store.ledger.topup({ account: ACCOUNT, epoch: 1, id: `default/c${amount}`, amount })
}

/** A route without a price for each model; `paid` has a fixed price, `words` one of a micro-dollar a word. */
export function tableOf(baseURL: string, ...models: string[]): TableRecord {
  const routes = models.map((model) => testRoute(model, { name: model }))
  const price = testPrice({ perRequest: '0.000001' })
  const paid = testRoute('paid', { name: 'paid', free: false, price })
  const words = testRoute('words', { name: 'words', free: false, price: testPrice({ output: '1' }) })
  const channel = { ...testChannel('main'), baseURL, timeoutsMs: TIMEOUTS }
  return testTable([...routes, paid, words], { main: channel })
}

export function ask(
  proxy: Pick<TestProxy, 'base'>,
  key: string,
  model = 'free',
  more: object = {},
): Promise<Answer> {
  return call(`${proxy.base}/v1/chat/completions`, { headers: jsonHeaders(key), body: chatBody(model, more) })
}

export async function statusOf(proxy: Pick<TestProxy, 'base'>, key: string, model?: string): Promise<number> {
  return (await ask(proxy, key, model)).status
}

/** The value of a series on /metrics. */
export async function metric({ admin }: Pick<TestProxy, 'admin'>, series: string): Promise<number> {
  const { text } = await call(`${admin}/metrics`)
  const line = text.split('\n').find((candidate) => candidate.startsWith(`${series} `))
  return Number(line?.slice(series.length + 1) ?? Number.NaN)
}

export async function balance({ store }: World): Promise<{ posted: number; held: number }> {
  const found = await store.ledger.balance(ACCOUNT)
  if (found === undefined) throw new Error('the account is not open')
  return { posted: found.posted, held: found.held }
}
