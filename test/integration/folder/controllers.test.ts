/** Two controllers on a folder, Redis and two proxies, without Kubernetes: leadership, changes, money, faults. */
import { readFileSync, renameSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { z } from 'zod'
import { objectId } from '../../../contract/ids.ts'
import type { Store } from '../../../store/contract.ts'
import { createRedisStore } from '../../../store/redis/index.ts'
import { readKeyRing } from '../../../store/sealing.ts'
import { type Member, metric } from '../../harness/fleet.ts'
import { ask, askAll, startReportingUpstream } from '../../harness/fleet-traffic.ts'
import { type FolderFleet, startFolderFleet } from '../../harness/folder-fleet.ts'
import { until } from '../../harness/gateway.ts'
import { nanos } from '../../harness/ledger.ts'
import { startProgram } from '../../harness/program.ts'
import { account, apiKey, channel, route } from '../../harness/resources.ts'
import type { ScriptedUpstream } from '../../harness/upstream.ts'

const KEY = 'sk-of-a-team-0123456789'
const PRICE = nanos('0.5')
const SILENT = { info() {}, warn() {}, error() {} }

let fleet: FolderFleet
let upstream: ScriptedUpstream
let store: Store

beforeAll(async () => {
  upstream = await startReportingUpstream('first')
  fleet = await startFolderFleet(
    {
      'upstream.yaml':
        channel('main', upstream.baseURL, { auth: { scheme: 'None' } }) +
        route('free', 'free', ['main']) +
        route('paid', 'paid', ['main'], { price: { perRequest: '0.5' } }),
      'team.yaml': account('team', '10') + apiKey('team', KEY, { accountRef: { name: 'team' } }),
    },
    { SLUICE_LEASE_DURATION: '3s', SLUICE_JOURNAL: 'stdout' },
  )
  const sealing = readKeyRing(fleet.sealingKeysFile, SILENT)
  store = createRedisStore({ url: fleet.redis.url, sealing, log: SILENT, instance: 'test' })
  await serves(KEY, 'paid', /^200/)
})
afterAll(async () => {
  await store?.close()
  await fleet?.stop()
  await upstream?.close()
})

const bases = () => fleet.proxies.map(({ base }) => base)
const leads = async (controller: Member) => (await metric(controller, 'sluice_controller_leader')) === 1

/** Waits until both proxies answer so. */
async function serves(key: string, model: string, summary: RegExp, withinMs = 15_000): Promise<void> {
  let last: string[] = []
  const asWanted = async () => {
    last = await askAll(bases(), key, model).catch(() => [])
    return last.length > 0 && last.every((each) => summary.test(each))
  }
  await until(asWanted, `${summary} on both proxies`, withinMs).catch((error: unknown) => {
    throw new Error(`the proxies say ${last.join(', ')}`, { cause: error })
  })
}

/** What the account was credited and has spent, once nothing is held. */
async function books(): Promise<{ credited: number; spent: number }> {
  const settled = async () => {
    const balance = await store.ledger.balance(objectId('default', 'team')).catch(() => undefined)
    return balance?.held === 0 ? balance : undefined
  }
  const { credited, posted } = await until(settled, 'all settles', 60_000)
  return { credited, spent: credited - posted }
}

/** Runs a command of the command line with the admin ports of this fleet. */
async function sluice(...args: string[]): Promise<{ code: number | string; output: string }> {
  const admins = [...fleet.controllers, ...fleet.proxies].map(({ admin }) => admin)
  const program = startProgram(process.execPath, ['cli/main.ts', ...args], {
    env: { SLUICE_ADMIN_URLS: admins.join(',') },
  })
  return { code: await program.exited, output: program.output() }
}

/** Starts controllers that have lost the lead, as a supervisor does. */
async function revive(): Promise<void> {
  for (const one of fleet.controllers) {
    const answer = await fetch(`${one.admin}/readyz`).catch(() => undefined)
    if (answer === undefined) await one.restart()
  }
}

const statusReport = z.object({
  newest: z.object({ epoch: z.number() }).nullable(),
  instances: z.array(
    z.looseObject({ role: z.string(), instance: z.string(), leading: z.boolean().optional() }),
  ),
})

const usageReport = z.object({
  lines: z.array(
    z.object({
      of: z.record(z.string(), z.string()),
      counts: z.record(z.string(), z.union([z.number(), z.string()])),
    }),
  ),
})

describe('leadership', () => {
  it('one controller leads, as sluice status shows', async () => {
    const { leader } = await fleet.sides()
    const { code, output } = await sluice('status', '-o', 'json')
    const { instances } = statusReport.parse(JSON.parse(output))
    expect(code).toBe(0)
    expect(instances.map(({ instance, leading }) => `${instance} ${leading}`)).toEqual(
      ['controller-1', 'controller-2']
        .map((name) => `${name} ${name === leader.name}`)
        .concat('proxy-1 undefined', 'proxy-2 undefined'),
    )
  })

  it('sluice explain knows the key by its name, whichever controller leads', async () => {
    const { code, output } = await sluice('explain', '--key', 'team', '--model', 'paid')
    expect([code, output]).toEqual([0, expect.stringMatching(/would be served.*would be served/s)])
    expect((await sluice('explain', '--key', 'team', '--model', 'absent')).code).toBe(1)
  })

  it('kill -9 of the leader: the other one takes over, and no Credit is applied twice', async () => {
    const { leader, standby } = await fleet.sides()
    const before = await books()
    expect(before.credited).toBe(nanos('10'))
    const { epoch } = await store.config.position()
    leader.kill('SIGKILL')
    await leader.exited
    const since = performance.now()
    fleet.write('new.yaml', route('new', 'new', ['main']))
    // Traffic needs no controller.
    expect(await askAll(bases(), KEY, 'free')).toEqual(['200 first none free', '200 first none free'])
    await until(() => leads(standby), 'the other controller to lead')
    // Its key lasts for 3 s, and it is looked at five times a second.
    expect(performance.now() - since).toBeLessThan(10_000)
    await serves(KEY, 'new', /^200/)
    expect((await store.config.position()).epoch).toBeGreaterThan(epoch)
    await leader.restart()
    const { leader: now } = await fleet.sides()
    expect(now).toBe(standby)
    expect(await books()).toEqual(before)
  })

  it('SIGTERM of the leader: the other one leads at once', async () => {
    const { leader, standby } = await fleet.sides()
    leader.kill('SIGTERM')
    await leader.exited
    const since = performance.now()
    await until(() => leads(standby), 'the other controller to lead')
    expect(performance.now() - since).toBeLessThan(2_000)
    await leader.restart()
  })

  it('a paused leader that was replaced writes nothing and exits', async () => {
    const { leader, standby } = await fleet.sides()
    leader.pause()
    await until(() => leads(standby), 'the other controller to lead')
    fleet.write('later.yaml', route('later', 'later', ['main']))
    await serves(KEY, 'later', /^200/)
    const position = await store.config.position()
    leader.resume()
    await leader.exited
    expect(leader.output()).toContain('stopping: another controller')
    await leader.restart()
    expect(await leads(standby)).toBe(true)
    expect(await store.config.position()).toEqual(position)
  })

  it('with Redis away no controller counts itself as the leader, and afterwards one leads again', async () => {
    const { leader, standby } = await fleet.sides()
    const before = await books()
    await fleet.redis.kill()
    await until(async () => !(await leads(leader)), 'the leader to give up', 10_000)
    expect(await leads(standby)).toBe(false)
    await fleet.redis.restart()
    await until(async () => (await leads(leader)) || (await leads(standby)), 'a controller to lead', 20_000)
    await revive()
    await fleet.sides()
    await serves(KEY, 'paid', /^200/)
    expect((await books()).credited).toBe(before.credited)
  })
})

describe('changes', () => {
  it('a key is created and revoked within a second on every proxy', async () => {
    const key = 'sk-of-a-guest-0123456789'
    fleet.write('guest.yaml', apiKey('guest', key))
    await serves(key, 'free', /^200/)
    rmSync(join(fleet.config, 'guest.yaml'))
    const since = performance.now()
    await serves(key, 'free', /^401/)
    expect(performance.now() - since).toBeLessThan(1_000)
  })

  it('a document that cannot be used keeps its last good version, and its problem is shown', async () => {
    const { leader } = await fleet.sides()
    fleet.write('new.yaml', route('new', 'new', ['main'], { modle: 'new' }))
    const problems = () => metric(leader, 'sluice_folder_problems')
    await until(async () => (await problems()) === 1, 'the problem to be counted')
    const shown = await (await fetch(`${leader.admin}/problems`)).text()
    expect(shown).toContain('unknown field spec.modle; did you mean model?')
    await serves(KEY, 'new', /^200/)
    fleet.write('new.yaml', route('new', 'new', ['main']))
    await until(async () => (await problems()) === 0, 'the problem to be over')
  })

  it('a folder that cannot be read keeps everything in force', async () => {
    const { leader } = await fleet.sides()
    const away = `${fleet.config}-away`
    renameSync(fleet.config, away)
    await until(async () => (await metric(leader, 'sluice_folder_problems')) === 1, 'the folder to be missed')
    await serves(KEY, 'new', /^200/)
    expect((await fetch(`${leader.admin}/readyz`)).status).toBe(200)
    renameSync(away, fleet.config)
    fleet.write('back.yaml', route('back', 'back', ['main']))
    await serves(KEY, 'back', /^200/)
  })
})

describe('money', () => {
  it('usage, journal and ledger agree', async () => {
    const { code, output } = await sluice('usage', '-o', 'json')
    const { spent } = await books()
    expect(code).toBe(0)
    const { lines } = usageReport.parse(JSON.parse(output))
    expect(nanos(String(lines.find(({ of }) => of.account === 'default/team')?.counts.cost))).toBe(spent)
    const logs = fleet.controllers.map(({ name }) => join(fleet.config, `../log/${name}.log`))
    const agrees = async () =>
      (await sluice('ledger', 'verify', ...logs)).output.startsWith('1 accounts agree')
    await until(agrees, 'the journal to agree', 30_000)
  })

  it('a Redis that lost everything gets tables and balances back, and no Credit twice', async () => {
    await fleet.sides()
    const before = await books()
    expect(before.spent).toBeGreaterThan(PRICE)
    const saved = () => {
      const { accounts } = JSON.parse(readFileSync(join(fleet.state, 'ledger.json'), 'utf8'))
      return Object.values<{ spent: number }>(accounts)[0]?.spent === before.spent
    }
    await until(saved, 'the checkpoint', 30_000)
    await fleet.redis.command('FLUSHALL')
    await serves(KEY, 'free', /^200/, 30_000)
    await serves(KEY, 'paid', /^200/, 30_000)
    const { credited, spent } = await books()
    expect(credited).toBe(before.credited)
    expect(spent).toBeGreaterThanOrEqual(before.spent + 2 * PRICE)
  })

  it('the hold of a proxy that was killed expires, and its account is charged', async () => {
    // Where the other controller was faster to take the lead in the emptied Redis, this one has ended.
    await revive()
    const before = await books()
    const [proxy] = fleet.proxies
    if (proxy === undefined) throw new Error('there is no proxy')
    const hanging = Promise.withResolvers<void>()
    const called = Promise.withResolvers<void>()
    upstream.answer(async () => {
      called.resolve()
      await hanging.promise
    })
    const broken = ask(proxy.base, KEY, 'paid').catch(() => 'broken')
    await called.promise
    proxy.kill('SIGKILL')
    expect(await broken).toBe('broken')
    hanging.resolve()
    // A lease lasts for 30 s, and the leader looks every 10 s.
    expect(await books()).toEqual({ ...before, spent: before.spent + PRICE })
  })
})
