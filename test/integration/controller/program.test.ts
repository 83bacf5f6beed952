/** `sluice controller` as a process of its own. */
import { execFileSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, onTestFailed } from 'vitest'
import { z } from 'zod'
import { keyHash, objectId } from '../../../contract/ids.ts'
import { secretCheckpoints } from '../../../controller/books/checkpoint-secrets.ts'
import { testNote } from '../../../proxy/ledger/testing.ts'
import type { Store } from '../../../store/contract.ts'
import { createRedisStore } from '../../../store/redis/index.ts'
import { readKeyRing } from '../../../store/sealing.ts'
import { controlPlane } from '../../harness/control-plane.ts'
import { until } from '../../harness/gateway.ts'
import { call } from '../../harness/http.ts'
import { endProgram, freePort, type Program, startSluice } from '../../harness/program.ts'
import { type RunningRedis, startRedis } from '../../harness/redis.ts'
import { createWorld, type World } from './world.ts'

const KEY = 'sk-client-0123456789-abcdefgh'
const silent = { info() {}, warn() {}, error() {} }
const dir = mkdtempSync(join(tmpdir(), 'sluice-controller-program-'))
const sealing = join(dir, 'keys')
let redis: RunningRedis
let store: Store
let world: World
let programs: Program[]
let settings: Record<string, string>

beforeAll(async () => {
  writeFileSync(sealing, `k1:${randomBytes(32).toString('base64')}\n`)
  redis = await startRedis()
})

afterAll(async () => {
  await redis.stop()
  rmSync(dir, { recursive: true })
})

beforeEach(async () => {
  await redis.command('FLUSHALL')
  programs = []
  store = createRedisStore({
    url: redis.url,
    sealing: readKeyRing(sealing, silent),
    log: silent,
    instance: 'test',
  })
  world = await createWorld()
  settings = {
    KUBECONFIG: (await controlPlane()).kubeconfig,
    SLUICE_REDIS_URL: redis.url,
    SLUICE_SEALING_KEYS_FILE: sealing,
    SLUICE_NAMESPACE: world.namespace,
    SLUICE_WATCH_NAMESPACES: world.namespace,
    // Longer than a busy machine keeps a leader from renewing its Lease.
    SLUICE_LEASE_DURATION: '60s',
  }
})

afterEach(async () => {
  await Promise.all(programs.map(endProgram))
  await world.end()
  await store.close()
})

const instance = z.object({
  role: z.string(),
  instance: z.string(),
  leading: z.boolean(),
  ready: z.boolean(),
  epoch: z.number().optional(),
  generation: z.number().optional(),
  proxies: z.array(z.object({ proxy: z.string() })).optional(),
  risks: z.array(z.object({ kind: z.string() })).optional(),
})

async function start(name: string, more: Record<string, string> = {}) {
  const adminPort = await freePort()
  const env = { ...settings, SLUICE_INSTANCE: name, SLUICE_ADMIN_PORT: `${adminPort}`, ...more }
  const program = startSluice(env, ['controller'])
  programs.push(program)
  onTestFailed(() => console.log(program.output()))
  await program.printed(/"msg":"watching resources"/)
  const admin = `http://127.0.0.1:${adminPort}`
  const status = async () => {
    const { text } = await call(`${admin}/status`)
    return z.object({ instances: z.tuple([instance]) }).parse(JSON.parse(text)).instances[0]
  }
  return { program, admin, status }
}
type Started = Awaited<ReturnType<typeof start>>

const leads = ({ status }: Started) => until(async () => (await status()).leading, 'the controller to lead')
const has = (hash: string) => until(() => store.config.key(hash).catch(() => undefined), 'the key')

describe('the program', () => {
  it('shows its state to callers with the token', async () => {
    world.proxy(store, 'p1')
    const started = await start('one')
    await leads(started)
    await world.apply('ApiKey', 'alice', { hashes: [keyHash(KEY)] })
    await world.becomes('ApiKey', 'alice', 'Ready', 'True Ready')
    const { admin } = started
    expect((await call(`${admin}/healthz`)).status).toBe(200)
    expect((await call(`${admin}/readyz`)).status).toBe(200)
    expect(await started.status()).toMatchObject({
      role: 'controller',
      instance: 'one',
      leading: true,
      ready: true,
      proxies: [{ proxy: 'p1' }],
      // The Redis of these tests saves nothing.
      risks: [{ kind: 'not_persistent' }],
    })
    const query = `?namespace=${world.namespace}&name=`
    expect(JSON.parse((await call(`${admin}/keys${query}alice`)).text)).toEqual({
      namespace: world.namespace,
      name: 'alice',
      hashes: [keyHash(KEY)],
      preview: `sha256:${keyHash(KEY).slice(0, 8)}`,
    })
    expect((await call(`${admin}/keys${query}unknown`)).status).toBe(404)
    expect((await call(`${admin}/keys`)).status).toBe(400)
    const resources = JSON.parse((await call(`${admin}/resources`)).text)
    expect(resources).toMatchObject([{ kind: 'ApiKey', namespace: world.namespace, name: 'alice' }])
    const metrics = (await call(`${admin}/metrics`)).text
    for (const series of [
      'sluice_controller_leader 1',
      'leader_election_master_status{name="sluice-controller"} 1',
      'sluice_proxies_live 1',
      'sluice_informer_synced{kind="ApiKey"} 1',
      'sluice_resources{kind="ApiKey"} 1',
      'sluice_store_risk{risk="not_persistent"} 1',
      'sluice_store_risk{risk="evicts_all"} 0',
      'controller_runtime_reconcile_total{controller="status",result="success"}',
      'workqueue_depth{name="status"} 0',
      'rest_client_requests_total{method="PATCH",code="200"}',
    ])
      expect(metrics).toContain(series)
    // Empty output and exit code 0: names, units and help are valid.
    execFileSync('promtool', ['check', 'metrics'], { input: metrics })
  })

  it('names missing settings and does not start', async () => {
    const program = startSluice({ KUBECONFIG: settings.KUBECONFIG ?? '' }, ['controller'])
    programs.push(program)
    expect(await program.exited).toBe(2)
    expect(program.output()).toContain('SLUICE_REDIS_URL')
    expect(program.output()).toContain('SLUICE_SEALING_KEYS_FILE')
  })

  it('waits for a Redis that is down', async () => {
    await redis.kill()
    const started = await start('one')
    await leads(started)
    await world.apply('ApiKey', 'alice', { hashes: [keyHash(KEY)] })
    await started.program.printed(/"msg":"publishing failed; will retry"/)
    await redis.restart()
    await has(keyHash(KEY))
  })

  it('waits, unready, for an API server that is down', async () => {
    const kubeconfig = join(dir, 'nowhere')
    const port = await freePort()
    const cluster = { name: 'c', cluster: { server: `https://127.0.0.1:${port}` } }
    const context = { name: 'c', context: { cluster: 'c', user: 'u' } }
    const config = { apiVersion: 'v1', kind: 'Config', clusters: [cluster], contexts: [context] }
    const user = { name: 'u', user: { token: 'not-a-token' } }
    writeFileSync(kubeconfig, JSON.stringify({ ...config, users: [user], 'current-context': 'c' }))
    const { admin, status } = await start('one', { KUBECONFIG: kubeconfig })
    const answer = await call(`${admin}/readyz`)
    expect(answer.status).toBe(503)
    expect(answer.text).toContain('waiting for the API server')
    expect(await status()).toMatchObject({ leading: false, ready: false })
  })
})

describe('two programs', () => {
  const SHORT = { SLUICE_LEASE_DURATION: '6s' }

  it('hand over on SIGTERM before the Lease ends', async () => {
    // Longer than the test waits.
    const settings = { SLUICE_LEASE_DURATION: '600s' }
    const one = await start('one', settings)
    await leads(one)
    const two = await start('two', settings)
    await until(async () => (await two.status()).ready, 'the second to stand by')
    one.program.child.kill('SIGTERM')
    await leads(two)
    expect(await one.program.exited).toBe(0)
    await world.apply('ApiKey', 'alice', { hashes: [keyHash(KEY)] })
    await has(keyHash(KEY))
  })

  it('take over from a killed one when its Lease ends', async () => {
    const one = await start('one', SHORT)
    await leads(one)
    const two = await start('two', SHORT)
    await until(async () => (await two.status()).ready, 'the second to stand by')
    one.program.child.kill('SIGKILL')
    await leads(two)
    await world.apply('ApiKey', 'alice', { hashes: [keyHash(KEY)] })
    await has(keyHash(KEY))
  })

  it('never both lead: a paused leader exits when it resumes', async () => {
    const one = await start('one', SHORT)
    await leads(one)
    const two = await start('two', SHORT)
    await until(async () => (await two.status()).ready, 'the second to stand by')
    one.program.child.kill('SIGSTOP')
    await leads(two)
    await world.apply('ApiKey', 'alice', { hashes: [keyHash(KEY)] })
    await has(keyHash(KEY))
    one.program.child.kill('SIGCONT')
    expect(await one.program.exited).toBe(1)
    expect(one.program.output()).toContain('stopping: ')
    expect(await store.config.key(keyHash(KEY))).toBeDefined()
    expect((await two.status()).leading).toBe(true)
  })
})

describe('a superseded leader', () => {
  it('gives the Lease back, so that the next one need not wait for its end', async () => {
    // Longer than the test waits.
    const settings = { SLUICE_LEASE_DURATION: '600s' }
    const one = await start('one', settings)
    await leads(one)
    await world.apply('ApiKey', 'alice', { hashes: [keyHash(KEY)] })
    await has(keyHash(KEY))
    const two = await start('two', settings)
    await until(async () => (await two.status()).ready, 'the second to stand by')
    // A new epoch without the Lease: the leader learns of it by its next publication.
    await store.config.newEpoch()
    await world.apply('ApiKey', 'alice', { hashes: [keyHash(KEY)], disabled: true })
    expect(await one.program.exited).toBe(1)
    await leads(two)
    await until(async () => (await store.config.key(keyHash(KEY)))?.disabled === true, 'the change')
  })
})

describe('a wiped ledger', () => {
  const spec = { accountRef: { name: 'fresh' }, amount: '5' }
  const fresh = () => objectId(world.namespace, 'fresh')
  /** Without its Lease, so that the next one need not wait for its end. */
  const killed = async ({ program }: Started) => {
    program.child.kill('SIGKILL')
    await program.exited
    const leases = `/apis/coordination.k8s.io/v1/namespaces/${world.namespace}/leases`
    await world.kube.request({ method: 'DELETE', path: `${leases}/sluice-controller` })
  }
  const posted = async () => (await store.ledger.balance(fresh()))?.posted
  const spend = async () => {
    const note = testNote()
    const hold = { account: fresh(), id: 'r1', note }
    const terms = { amount: 4_000_000_000, seen: 0, enforced: true, overdraft: 0, leaseMs: 60_000 }
    await store.ledger.reserve({ ...hold, ...terms })
    await store.ledger.settle({ ...hold, actual: 4_000_000_000, reservedAt: Date.now() })
    await store.ledger.touch([fresh()])
  }

  it.each([
    ['ran throughout', false],
    ['restarted while the Account was absent', true],
  ])(
    'is restored, and never gets a Credit twice, even if its Account is recreated; the controller %s',
    async (_what, restarts) => {
      world.proxy(store, 'p1')
      const one = await start('one')
      await leads(one)
      await world.apply('Account', 'fresh', {})
      await world.apply('Credit', 'start', spec)
      const { status } = await world.becomes('Credit', 'start', 'Ready', 'True Ready')
      expect(status.appliedAt).toMatch(/^20/)
      await spend()
      expect(await posted()).toBe(1_000_000_000)
      const saved = () => secretCheckpoints(world.kube, world.namespace, 'sluice-controller').load()
      const marked = async () =>
        (await saved()).shards.some((marks) => marks[fresh()]?.spent === 4_000_000_000)
      await until(marked, 'the checkpoint', 30_000)

      await world.remove('Account', 'fresh')
      await world.becomes('Credit', 'start', 'ResolvedRefs', 'False RefNotFound')
      await redis.command('FLUSHALL')
      let last = one
      if (restarts) {
        await killed(one)
        last = await start('two')
        await leads(last)
        // Written after everything that the start would write.
        await world.apply('Account', 'marker', {})
        await world.becomes('Account', 'marker', 'Ready', 'True Ready')
      }
      expect((await world.get('Credit', 'start')).status.appliedAt).toBe(status.appliedAt)
      await killed(last)
      await world.apply('Account', 'fresh', {})
      await leads(await start('three'))
      await world.becomes('Account', 'fresh', 'Ready', 'True Ready')
      await until(async () => (await posted()) === 1_000_000_000, 'the balance')
      expect((await world.get('Credit', 'start')).status.appliedAt).toBe(status.appliedAt)

      await world.apply('Credit', 'more', spec)
      await world.becomes('Credit', 'more', 'Ready', 'True Ready')
      expect(await posted()).toBe(6_000_000_000)
      const funds = async () => (await world.get('Account', 'fresh')).status
      await until(async () => (await funds()).credited === '10', 'the status')
      expect(await funds()).toMatchObject({ credited: '10', spent: '4', balance: '6' })
    },
    120_000,
  )
})
