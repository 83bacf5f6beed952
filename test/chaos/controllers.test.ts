/** Controllers that die, stop, hang or are missing. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { controlPlane } from '../harness/control-plane.ts'
import type { Member } from '../harness/fleet.ts'
import { metric } from '../harness/fleet.ts'
import { until } from '../harness/gateway.ts'
import { ROUNDS, startWorld, type World } from './world.ts'

let world: World
beforeAll(async () => {
  world = await startWorld({ controlPlane: await controlPlane(), proxies: 2 })
})
afterAll(() => world.stop())

async function sides(): Promise<{ leader: Member; other: Member }> {
  const leader = await world.fleet.leader()
  const other = world.fleet.controllers.find((controller) => controller !== leader)
  if (other === undefined) throw new Error('there is one controller only')
  await until(async () => (await fetch(`${other.admin}/readyz`)).ok, 'the other one to stand by')
  return { leader, other }
}

const leads = async (controller: Member) => (await metric(controller, 'sluice_controller_leader')) === 1

describe.each(ROUNDS)('round %i', () => {
  it('kill -9 of the leader: the other one takes over when the Lease has expired', async () => {
    const { leader, other } = await sides()
    const victim = await world.createVictim()
    const before = await world.charged()
    const traffic = world.traffic()
    leader.kill('SIGKILL')
    await leader.exited
    const since = performance.now()
    const edit = await world.edit(victim)
    await until(() => leads(other), 'the other controller to lead')
    console.log(`took over after ${Math.round(performance.now() - since)} ms`)
    await world.expectInForce(edit)
    await leader.restart()
    await world.expectHealthy()
    const { served } = await traffic.stop()
    traffic.expectRight()
    await world.expectCharged(before, served)
  })

  it('SIGTERM of the leader: the other one takes over at once', async () => {
    const { leader, other } = await sides()
    const victim = await world.createVictim()
    const traffic = world.traffic()
    const since = performance.now()
    leader.kill('SIGTERM')
    const edit = world.edit(victim)
    await until(() => leads(other), 'the other controller to lead')
    console.log(`handed over after ${Math.round(performance.now() - since)} ms`)
    await world.expectInForce(await edit)
    await leader.restart()
    await world.expectHealthy()
    await traffic.stop()
    traffic.expectRight()
  })

  it('a paused leader that was replaced writes nothing and exits', async () => {
    const { leader, other } = await sides()
    const victim = await world.createVictim()
    const traffic = world.traffic()
    leader.pause()
    await until(() => leads(other), 'the other controller to lead')
    const edit = await world.edit(victim)
    await world.expectInForce(edit)
    const { epoch } = await world.store.config.position()
    leader.resume()
    await leader.exited
    expect(leader.output()).toContain('ending: ')
    await leader.restart()
    expect((await world.store.config.position()).epoch).toBe(epoch)
    expect(await leads(other)).toBe(true)
    await world.expectInForce(edit)
    await world.expectHealthy()
    await traffic.stop()
    traffic.expectRight()
  })

  it('without any controller everything is served, and a proxy starts from Redis alone', async () => {
    const { controllers, proxies } = world.fleet
    const [restarted] = proxies
    if (restarted === undefined) throw new Error('there is no proxy')
    await sides()
    const victim = await world.createVictim()
    const before = await world.charged()
    const traffic = world.traffic()
    for (const controller of controllers) controller.kill('SIGKILL')
    await Promise.all(controllers.map(({ exited }) => exited))
    const edit = await world.edit(victim)
    await restarted.restart()
    const since = performance.now()
    const served = () =>
      traffic.of('metered', since).filter(({ status, proxy }) => status === 200 && proxy === restarted.base)
    await until(() => served().length > 5, 'metered requests through the new proxy')
    for (const proxy of proxies) expect((await fetch(`${proxy.admin}/readyz`)).status).toBe(200)
    await Promise.all(controllers.map((controller) => controller.restart()))
    await world.expectInForce(edit)
    await world.expectHealthy()
    const total = await traffic.stop()
    traffic.expectRight([restarted.base])
    await world.expectCharged(before, total.served, total.broken)
  })
})
