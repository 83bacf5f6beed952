/**
 * Money under load and faults, for SOAK_MINUTES: in the end nothing is held, and the ledger, its journal and the upstream's
 * own bill agree.
 */
import { mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, onTestFailed, test } from 'vitest'
import { objectId } from '../../contract/ids.ts'
import type { Store } from '../../store/contract.ts'
import { createRedisStore } from '../../store/redis/index.ts'
import { readKeyRing } from '../../store/sealing.ts'
import { metric } from '../harness/fleet.ts'
import { until } from '../harness/gateway.ts'
import { startSluice } from '../harness/program.ts'
import { faultsOf } from './books.ts'
import { FAULTS, type Killed } from './faults.ts'
import { Load } from './load.ts'
import { ACCOUNTS, startWorld, type World } from './world.ts'

const MINUTES = Number(process.env.SOAK_MINUTES ?? 5)
const BETWEEN_MS = 8_000
/** A lease, and the look of the leader after it. */
const FREED_MS = 45_000
const SILENT = { info() {}, warn() {}, error() {} }

let world: World
let store: Store
beforeAll(async () => {
  world = await startWorld()
  store = createRedisStore({
    url: world.fleet.redis.url,
    sealing: readKeyRing(world.fleet.sealingKeysFile, SILENT),
    log: SILENT,
    instance: 'test',
  })
  await until(() => isServed(), 'the fleet')
})
afterAll(async () => {
  await store?.close()
  await world?.stop()
})

const balance = (account: string) =>
  store.ledger.balance(objectId(world.fleet.namespace, account)).catch(() => undefined)

/** Every account is open, someone leads, and no settle waits. */
async function isServed(): Promise<boolean> {
  const { proxies, controllers } = world.fleet
  const open = (await Promise.all(ACCOUNTS.map(balance))).every((found) => found !== undefined)
  const queues = await Promise.all(proxies.map((proxy) => metric(proxy, 'sluice_settle_queue')))
  const leads = await Promise.all(controllers.map((one) => metric(one, 'sluice_controller_leader')))
  return open && queues.every((size) => size === 0) && leads.includes(1)
}

/** Copies what all programs wrote, the journal among it: the cause of a wrong balance is found there alone. */
function keepLogs(): void {
  const kept = mkdtempSync(join(tmpdir(), 'sluice-soak-'))
  const { controllers, proxies } = world.fleet
  for (const one of [...controllers, ...proxies]) writeFileSync(join(kept, `${one.name}.log`), one.output())
  console.log(`The logs of this soak are in ${kept}`)
}

const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms))

test('ledger, journal and the upstream’s bill agree after all faults', {
  timeout: (MINUTES + 5) * 60_000,
}, async () => {
  onTestFailed(keepLogs)
  const end = performance.now() + MINUTES * 60_000
  const load = new Load(world)
  const killed: Killed[] = []
  const names = Object.keys(FAULTS)
  for (let round = 0; performance.now() < end; round++) {
    await pause(BETWEEN_MS)
    await world.addCredits()
    const name = names[round % names.length] ?? ''
    const begin = performance.now()
    await FAULTS[name]?.(world, killed)
    await until(isServed, `the fleet after: ${name}`, 60_000)
    console.log(`${name}: ${Math.round(performance.now() - begin)} ms, ${load.cases.length} requests`)
  }
  await load.stop()

  const held = async () => (await Promise.all(ACCOUNTS.map(balance))).map((found) => found?.held)
  await until(async () => (await held()).every((sum) => sum === 0), 'all holds to end', FREED_MS)
  const { controllers, proxies } = world.fleet
  const verified = async () => {
    const admin = controllers.map((one) => one.admin).join(',')
    const { child, exited, output } = startSluice({}, [
      'ledger',
      'verify',
      '--admin',
      admin,
      ...world.fleet.logs,
    ])
    const code = await exited
    return child.exitCode === 0 && !output().includes('newer entries than') ? 'right' : `${code}: ${output()}`
  }
  let last = ''
  const agrees = async () => {
    last = await verified()
    return last === 'right'
  }
  await until(agrees, 'the journal', 30_000).catch(() => undefined)
  expect.soft(last).toBe('right')

  for (const name of ACCOUNTS) expect.soft((await balance(name))?.credited).toBe(world.credited.get(name))
  for (const proxy of proxies) {
    const text = await (await fetch(`${proxy.admin}/metrics`)).text()
    expect(
      text.split('\n').filter((line) => /^sluice_settles_dead_lettered_total\S* [1-9]/.test(line)),
    ).toEqual([])
  }
  const ends = Map.groupBy(load.cases, ({ end }) => end)
  console.log(Object.fromEntries([...ends].map(([name, { length }]) => [name, length])))
  expect.soft(ends.get('whole')?.length).toBeGreaterThan(load.cases.length / 3)
  expect(faultsOf(world, load.cases, killed)).toEqual([])
})
