/** A leader over a real Redis that may evict balances, or that saves nothing. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { objectId } from '../../../contract/ids.ts'
import { compile } from '../../../controller/compile/index.ts'
import { Leader } from '../../../controller/lead.ts'
import { addTo, emptySnapshot } from '../../../controller/snapshot.ts'
import type { Store } from '../../../store/contract.ts'
import { createRedisStore } from '../../../store/redis/index.ts'
import { ephemeralKeyRing } from '../../../store/sealing.ts'
import { until } from '../../harness/gateway.ts'
import { type RunningRedis, startRedis } from '../../harness/redis.ts'

const RISKS_MS = 50
const silent = { info() {}, warn() {}, error() {} }
const OLD = objectId('default', 'old')
const NEW = objectId('default', 'new')

let redis: RunningRedis
let store: Store
let leader: Leader | undefined
let logged: string[]

beforeEach(async () => {
  redis = await startRedis()
  store = createRedisStore({ url: redis.url, sealing: ephemeralKeyRing(), log: silent, instance: 'test' })
  logged = []
})

afterEach(async () => {
  await leader?.stop()
  leader = undefined
  await store.close()
  await redis.stop()
})

const set = (name: string, value: string) => redis.command('CONFIG', 'SET', name, value)

const SPEC = { enforcement: 'Enforced', overdraft: '0', disabled: false } as const

/** These accounts, and a credit of $5 for each. */
function accounts(...names: string[]) {
  const snapshot = emptySnapshot()
  const metadata = (name: string) => ({ namespace: 'default', name, uid: name, generation: 1, createdAt: 0 })
  for (const name of names) {
    addTo(snapshot, { kind: 'Account', metadata: metadata(name), spec: SPEC })
    const spec = { accountRef: { name }, amount: '5' }
    addTo(snapshot, { kind: 'Credit', metadata: metadata(`${name}-start`), spec })
  }
  return compile(snapshot, Date.now())
}

async function lead(...names: string[]): Promise<Leader> {
  const note = (level: string) => (fields: object, message: string) =>
    logged.push(`${level} ${message} ${JSON.stringify(fields)}`)
  const log = { info: note('info'), warn: note('warn'), error: note('error') }
  leader = new Leader({ store, log, now: Date.now, onFenced: () => {}, risksMs: RISKS_MS })
  leader.submit(accounts(...names))
  await leader.ready
  return leader
}

/** "True Ready", as if a proxy served what is published. */
async function condition(kind: string, name: string, type = 'Ready'): Promise<string> {
  await store.config.beat({ proxy: 'p', ...(await store.config.position()) })
  const listed = await leader?.statuses()
  const found = listed?.find((one) => one.kind === kind && one.name === name)
  const { status, reason } = found?.status.conditions.find((one) => one.type === type) ?? {}
  return `${status} ${reason}`
}
const becomes = (kind: string, name: string, type: string, expected: string) =>
  until(
    async () => (await condition(kind, name, type)) === expected,
    `${kind} ${name} to be ${type}=${expected}`,
  )

describe('a Redis that may evict balances', () => {
  it('gets no new account and its credit until it keeps balances, and serves those that it has', async () => {
    await lead('old')
    await becomes('Credit', 'old-start', 'Ready', 'True Ready')
    await leader?.stop()
    await set('maxmemory-policy', 'allkeys-lru')

    await lead('old', 'new')
    expect(await store.ledger.balance(NEW)).toBeUndefined()
    expect(await condition('Account', 'new')).toBe('False StoreEvicts')
    expect(await condition('Credit', 'new-start')).toBe('False StoreEvicts')
    await becomes('Account', 'new', 'AtRisk', 'True StoreEvicts')
    await becomes('Account', 'old', 'Ready', 'True Ready')
    expect(await condition('Account', 'old', 'AtRisk')).toBe('True StoreEvicts')
    expect((await store.ledger.balance(OLD))?.posted).toBe(5_000_000_000)
    const reported = logged.filter((line) => line.includes('maxmemory-policy'))
    expect(reported).toEqual([expect.stringMatching(/^warn .*127\.0\.0\.1:\d+: allkeys-lru/)])

    await set('maxmemory-policy', 'noeviction')
    // Before any status is read, which reads the ledger, too.
    const opened = async () => (await store.ledger.balance(NEW))?.posted === 5_000_000_000
    await until(opened, 'the account to be opened and credited')
    await becomes('Account', 'new', 'Ready', 'True Ready')
    await becomes('Credit', 'new-start', 'Ready', 'True Ready')
    await becomes('Account', 'new', 'AtRisk', 'True StoreNotPersistent')
    expect(logged.filter((line) => line.startsWith('info ') && line.includes('evicts_all'))).toHaveLength(1)
    // Once by each leader, although it lasted longer than the other risk.
    expect(logged.filter((line) => line.includes('not_persistent'))).toHaveLength(2)
  })

  it('gets no account from its first leader', async () => {
    await set('maxmemory-policy', 'allkeys-lru')
    const answer = Promise.withResolvers<void>()
    const { keeping } = store
    store = { ...store, keeping: () => answer.promise.then(keeping) }
    const leading = lead('new')
    await until(async () => (await store.config.position()).epoch > 0, 'the term to begin')
    answer.resolve()
    await leading
    expect(await store.ledger.balance(NEW)).toBeUndefined()
    expect(await condition('Account', 'new')).toBe('False StoreEvicts')
  })

  it('that is set so later gets no account from then on', async () => {
    await lead('old')
    await becomes('Account', 'old', 'Ready', 'True Ready')
    await set('maxmemory-policy', 'allkeys-random')
    await becomes('Account', 'old', 'AtRisk', 'True StoreEvicts')
    expect(leader?.risks.map(({ kind }) => kind)).toEqual(['evicts_all', 'not_persistent'])
    leader?.submit(accounts('old', 'new'))
    await becomes('Account', 'new', 'Ready', 'False StoreEvicts')
    expect(await store.ledger.balance(NEW)).toBeUndefined()
    expect(await condition('Account', 'old')).toBe('True Ready')
  })

  it('only where keys expire gets accounts, and is reported', async () => {
    await set('maxmemory-policy', 'volatile-lru')
    await lead('new')
    await becomes('Account', 'new', 'Ready', 'True Ready')
    expect(leader?.risks.map(({ kind }) => kind)).toEqual(['not_persistent', 'evicts_volatile'])
    expect(logged.filter((line) => line.includes('volatile-lru'))).toHaveLength(1)
  })
})

describe('a Redis that saves nothing', () => {
  it('is reported until it saves', async () => {
    await lead('old')
    await becomes('Account', 'old', 'AtRisk', 'True StoreNotPersistent')
    expect(await condition('Account', 'old')).toBe('True Ready')
    await set('appendonly', 'yes')
    await becomes('Account', 'old', 'AtRisk', 'undefined undefined')
    expect(leader?.risks).toEqual([])
  })

  it('is reported again when another server has taken its place', async () => {
    await set('appendonly', 'yes')
    await lead('old')
    await becomes('Account', 'old', 'Ready', 'True Ready')
    expect(leader?.risks).toEqual([])
    // A restart loses what CONFIG SET has set.
    await redis.restart()
    await until(() => leader?.risks[0]?.kind === 'not_persistent', 'the risk to be known')
  })
})
