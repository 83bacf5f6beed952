/**
 * Many proxies that follow one Redis: what each costs it, idle and for a publication. SCALE_PROXIES sets the number; `make
 * scale` takes 1,000. They are followers as proxies have them, in this process, so times include all their work on one
 * core. Prints its measurements; docs/scale.md has the arithmetic.
 */
import { randomBytes } from 'node:crypto'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { keyHash } from '../../contract/ids.ts'
import type { Log } from '../../contract/log.ts'
import { testKey } from '../../proxy/auth/testing.ts'
import { TableFollower } from '../../proxy/table/follower.ts'
import { testChannel, testRoute, testTable } from '../../proxy/table/testing.ts'
import type { Publication, Store } from '../../store/contract.ts'
import { createRedisStore } from '../../store/redis/index.ts'
import { type KeyRing, readKeyRing } from '../../store/sealing.ts'
import { until } from '../harness/gateway.ts'
import { type RunningRedis, startRedis } from '../harness/redis.ts'

const PROXIES = Number(process.env.SCALE_PROXIES ?? 20)
const AT_ONCE = 50
const ROUTES = 100
const IDLE_MS = 5_000
const KEYS = 2_000
const PATIENT_MS = 60_000 + PROXIES * 60
const SILENT: Log = { info: () => undefined, warn: () => undefined, error: () => undefined }
const KEY = keyHash('sk-of-all-proxies')
const NOTHING = { put: new Map(), remove: [] }

const dir = mkdtempSync(join(tmpdir(), 'sluice-proxies-'))
let redis: RunningRedis
let sealing: KeyRing
let leader: Store
const followers: { store: Store; follower: TableFollower }[] = []
let epoch = 0
let generation = 0

beforeAll(async () => {
  redis = await startRedis({ args: ['--maxclients', '20000'] })
  const keys = join(dir, 'keys')
  writeFileSync(keys, `k1:${randomBytes(32).toString('base64')}\n`, { mode: 0o600 })
  sealing = readKeyRing(keys, SILENT)
  leader = connect('leader')
  epoch = await until(() => leader.config.newEpoch(0).catch(() => undefined), 'Redis')
  await publish({ table: table('first'), keys: { put: new Map([[KEY, testKey()]]), remove: [] } })
})
afterAll(async () => {
  await Promise.all(followers.map(({ follower }) => follower.stop()))
  await Promise.all([leader, ...followers.map(({ store }) => store)].map((store) => store?.close()))
  await redis?.stop()
  rmSync(dir, { recursive: true, force: true })
}, PATIENT_MS)

const connect = (instance: string) =>
  // Patient, since one core does the work of all proxies.
  createRedisStore({ url: redis.url, sealing, log: SILENT, instance, commandTimeoutMs: 30_000 })

/** A table like that of an installation with a hundred models. */
const table = (name: string) =>
  testTable(
    Array.from({ length: ROUTES }, (_, n) => testRoute(`${name}-${n}`)),
    { main: testChannel('main') },
  )

async function publish(changes: Partial<Pick<Publication, 'table' | 'keys'>>): Promise<number> {
  generation += 1
  const publication = { epoch, generation, keys: NOTHING, accounts: NOTHING, ...changes }
  expect(await leader.config.publish(publication)).toBe('published')
  return generation
}

const applied = (wanted: number) =>
  until(
    () => followers.every(({ follower }) => follower.applied.generation >= wanted),
    'all proxies to serve a publication',
    PATIENT_MS,
  )

interface Usage {
  cpuMs: number
  commands: number
  sentBytes: number
}

/** What Redis has spent so far. */
async function usage(): Promise<Usage> {
  const info = String(await redis.command('INFO', 'everything'))
  const value = (name: string) => Number(new RegExp(`^${name}:([\\d.]+)`, 'm').exec(info)?.[1])
  return {
    cpuMs: (value('used_cpu_user') + value('used_cpu_sys')) * 1_000,
    commands: value('total_commands_processed'),
    sentBytes: value('total_net_output_bytes'),
  }
}

/** What `work` costs Redis beyond what the proxies cost it anyway, for each proxy, and how long it takes. */
async function costOf(work: () => Promise<void>, idle: Usage): Promise<Usage & { ms: number }> {
  const before = await usage()
  const since = performance.now()
  await work()
  const ms = performance.now() - since
  const after = await usage()
  const own = (name: keyof Usage) => (after[name] - before[name]) / PROXIES - (idle[name] * ms) / 1_000
  return { ms, cpuMs: own('cpuMs'), commands: own('commands'), sentBytes: own('sentBytes') }
}

describe(`${PROXIES} proxies`, () => {
  let idle: Usage = { cpuMs: 0, commands: 0, sentBytes: 0 }

  it(
    'begin to follow one Redis',
    async () => {
      const nothing: Usage = { cpuMs: 0, commands: 0, sentBytes: 0 }
      const begun = await costOf(async () => {
        let next = 0
        const start = async () => {
          for (let n = next++; n < PROXIES; n = next++) {
            const store = connect(`proxy-${n}`)
            const ignore = () => undefined
            const events = { swapped: ignore, failed: ignore, unreadable: ignore, behind: ignore }
            const options = { proxy: `proxy-${n}`, keyMaxAgeMs: 600_000 }
            const follower = new TableFollower(store.config, options, { ...events, keysChanged: ignore })
            followers.push({ store, follower })
            await follower.start()
          }
        }
        await Promise.all(Array.from({ length: AT_ONCE }, start))
        await applied(generation)
      }, nothing)
      report('start', begun)
      expect(followers).toHaveLength(PROXIES)
    },
    PATIENT_MS,
  )

  it('cost it a few commands each second', async () => {
    const before = await usage()
    const since = performance.now()
    await pause(IDLE_MS)
    const seconds = (performance.now() - since) / 1_000
    const after = await usage()
    const each = (name: keyof Usage) => (after[name] - before[name]) / PROXIES / seconds
    idle = { cpuMs: each('cpuMs'), commands: each('commands'), sentBytes: each('sentBytes') }
    report('a second', idle)
    // Two scripts of the heartbeat, which call two commands each, and two commands of the follower.
    expect(idle.commands).toBeLessThan(12)
    expect(idle.cpuMs).toBeLessThan(1)
    const beats = await leader.config.heartbeats(60_000)
    expect(beats).toHaveLength(PROXIES)
  })

  it(
    'read a changed key again, even if all of them use it',
    async () => {
      const read = () => Promise.all(followers.map(({ follower }) => follower.key(KEY)))
      await read()
      const key = { ...testKey(), disabled: true }
      const cost = await costOf(async () => {
        await applied(await publish({ keys: { put: new Map([[KEY, key]]), remove: [] } }))
        expect((await read()).every((record) => record?.disabled)).toBe(true)
      }, idle)
      report('a key', cost)
    },
    PATIENT_MS,
  )

  it(
    'read a changed table again',
    async () => {
      const cost = await costOf(async () => {
        await applied(await publish({ table: table('second') }))
      }, idle)
      report('a table', cost)
    },
    PATIENT_MS,
  )
})

it('a key takes a few hundred bytes in Redis', async () => {
  const memory = async () =>
    Number(/^used_memory_dataset:(\d+)/m.exec(String(await redis.command('INFO', 'memory')))?.[1])
  const put = new Map(
    Array.from({ length: KEYS }, (_, n) => [
      keyHash(`sk-${n}`),
      testKey({ id: `key-${n}`, name: `key-${n}`, account: 'account-id', models: ['small', 'large'] }),
    ]),
  )
  const before = await memory()
  const since = performance.now()
  await publish({ keys: { put, remove: [] } })
  const bytes = ((await memory()) - before) / KEYS
  console.log(`a key: ${bytes.toFixed(0)} bytes, ${((performance.now() - since) / KEYS).toFixed(3)} ms`)
  expect(bytes).toBeGreaterThan(300)
  expect(bytes).toBeLessThan(2_000)
})

function report(what: string, numbers: object): void {
  const text = Object.entries(numbers).map(([name, value]) => `${name} ${Number(value).toFixed(3)}`)
  console.log(`${PROXIES} proxies, each for ${what}: ${text.join(', ')}`)
}
