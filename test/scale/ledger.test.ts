/** The ledger at scale: thousands of holds of one proxy, and as many accounts in use at once. Prints its measurements. */
import { randomBytes } from 'node:crypto'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { secretCheckpoints } from '../../controller/books/checkpoint-secrets.ts'
import { compile } from '../../controller/compile/index.ts'
import { connectKube } from '../../controller/kube/client.ts'
import { Leader } from '../../controller/lead.ts'
import { emptySnapshot } from '../../controller/snapshot.ts'
import { Holds } from '../../proxy/ledger/holds.ts'
import { testNote, testPayer } from '../../proxy/ledger/testing.ts'
import type { Store } from '../../store/contract.ts'
import { createRedisStore } from '../../store/redis/index.ts'
import { readKeyRing } from '../../store/sealing.ts'
import { controlPlane } from '../harness/control-plane.ts'
import { until } from '../harness/gateway.ts'
import { type RunningRedis, startRedis } from '../harness/redis.ts'

/** With 10,000 keys, as make test-all has them: 10,000 holds and 100,000 accounts. */
const HOLDS = Number(process.env.SCALE_KEYS ?? 2_000)
const ACCOUNTS = 10 * HOLDS
const AT_ONCE = 64
const PAYERS = 10
const BETWEEN_LOOKS_MS = 5_000
/** Longer than a lease. */
const WATCHED_MS = 35_000
const log = { info() {}, warn() {}, error() {} }

const dir = mkdtempSync(join(tmpdir(), 'sluice-ledger-scale-'))
let redis: RunningRedis
let store: Store
beforeAll(async () => {
  redis = await startRedis()
  writeFileSync(join(dir, 'keys'), `k1:${randomBytes(32).toString('base64')}\n`)
  const sealing = readKeyRing(join(dir, 'keys'), log)
  store = createRedisStore({ url: redis.url, sealing, log, instance: 'scale' })
})
afterAll(async () => {
  await store?.close()
  await redis?.stop()
  rmSync(dir, { recursive: true })
})

async function forEach(count: number, work: (n: number) => Promise<unknown>): Promise<void> {
  let next = 0
  const lane = async () => {
    while (next < count) await work(next++)
  }
  await Promise.all(Array.from({ length: AT_ONCE }, lane))
}

it('renews every hold of a busy proxy in time, and refuses no other request meanwhile', async () => {
  const failures: unknown[] = []
  const holds = new Holds(store.ledger, {
    failed: (operation, error) => failures.push([operation, error]),
    accountMissing: (account) => failures.push(account),
    heldAgain: (account) => failures.push(account),
    limited: () => undefined,
    dead: (settle) => failures.push(settle),
  })
  const payers = Array.from({ length: PAYERS }, (_, n) => testPayer({ id: `payer-${n}` }))
  for (const { id: account } of payers) {
    await store.ledger.open({ account, epoch: 1, create: true })
    await store.ledger.topup({ account, epoch: 1, id: 'default/c', amount: 1_000_000_000 })
  }
  const take = (n: number) => {
    const payer = payers[n % PAYERS] ?? testPayer()
    return holds.take(payer, { id: `r${n}`, amount: 10, seen: 1, note: testNote() })
  }
  const taken: Awaited<ReturnType<typeof take>>[] = []
  await forEach(HOLDS, async (n) => taken.push(await take(n)))
  const since = performance.now()
  let others = 0
  let slowest = 0
  while (performance.now() - since < WATCHED_MS) {
    const begin = performance.now()
    const other = await take(HOLDS + others++)
    await other.settle(3, testNote())
    slowest = Math.max(slowest, performance.now() - begin)
  }
  const held = async () => {
    const balances = await Promise.all(payers.map(({ id }) => store.ledger.balance(id)))
    return balances.reduce((sum, balance) => sum + (balance?.held ?? 0), 0)
  }
  for (const { id } of payers) expect(await store.ledger.reap(id, 1_000)).toEqual([])
  expect(await held()).toBe(10 * HOLDS)
  console.log(`${HOLDS} live holds; ${others} other requests, the slowest after ${Math.round(slowest)} ms`)
  await forEach(HOLDS, async (n) => taken[n]?.settle(2, testNote()))
  await until(async () => (await held()) === 0, 'the settles')
  expect(failures).toEqual([])
  await holds.stop(1_000)
}, 240_000)

it('saves every account in use in the checkpoint', async () => {
  const { kubeconfig, createNamespace } = await controlPlane()
  const namespace = await createNamespace()
  const kube = connectKube({ log, kubeconfig })
  const checkpoints = secretCheckpoints(kube, namespace, 'scale')
  const compiled = compile(emptySnapshot(), Date.now())
  const ids = Array.from({ length: ACCOUNTS }, (_, n) => `account-${n}`)
  for (const id of ids) compiled.accounts.set(id, testPayer({ id, name: id }))
  const leader = new Leader({ store, log, now: Date.now, onFenced: () => undefined, checkpoints })
  try {
    leader.submit(compiled)
    await leader.ready
    await until(
      async () => (await store.ledger.balance(ids.at(-1) ?? '')) !== undefined,
      'the accounts',
      120_000,
    )
    const { epoch = 1 } = leader.position ?? {}
    await forEach(ACCOUNTS, async (n) => {
      const credit = { account: `account-${n}`, epoch, id: 'default/c', amount: 5 }
      // This process is busy: some answers come too late. A credit counts once, however often it is sent.
      const isCredited = () =>
        store.ledger.topup(credit).then(
          () => true,
          () => false,
        )
      await until(isCredited, 'the credit')
    })
    const since = performance.now()
    for (let from = 0; from < ACCOUNTS; from += 1_000) await store.ledger.touch(ids.slice(from, from + 1_000))
    const saved = async () => {
      const { shards } = await secretCheckpoints(kube, namespace, 'scale').load()
      return shards.flatMap((marks) => Object.values(marks)).filter(({ credited }) => credited === 5).length
    }
    await until(() => leader.lag.checkpointSeconds > 0, 'changes to save', 120_000)
    // Seldom, because reading all of it keeps this process, and so the leader, busy.
    let lookAt = 0
    const isSaved = async () => {
      if (leader.lag.checkpointSeconds > 0 || performance.now() < lookAt) return false
      const isWhole = (await saved()) === ACCOUNTS
      lookAt = performance.now() + BETWEEN_LOOKS_MS
      return isWhole
    }
    await until(isSaved, 'the checkpoint', 240_000)
    console.log(`${ACCOUNTS} accounts saved ${Math.round(performance.now() - since)} ms after their use`)
  } finally {
    await leader.stop()
    await kube.close()
  }
}, 600_000)
