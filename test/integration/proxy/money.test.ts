/** One balance and several proxies, one of them killed. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { z } from 'zod'
import { accountKeys } from '../../../store/keys.ts'
import { until } from '../../harness/gateway.ts'
import { createClock } from '../../harness/redis.ts'
import { startProxyProgram } from './program.ts'
import { ACCOUNT, ask, balance, METERED, PRICE, startWorld, statusOf, type World } from './world.ts'

const clock = createClock()
let world: World
beforeAll(async () => {
  world = await startWorld({ clock, funds: 0 })
})
afterAll(async () => {
  await world.stop()
  clock.remove()
})

test('two proxies serve exactly as many requests as one balance pays for', async () => {
  const proxies = await Promise.all([world.startProxy(), world.startProxy()])
  const paidFor = 37
  await world.store.ledger.topup({ account: ACCOUNT, epoch: 1, id: 'default/few', amount: paidFor * PRICE })
  const served = world.upstream.calls.length
  const statuses: number[] = []
  const lanes = Array.from({ length: 16 }, async (_, lane) => {
    for (let i = 0; i < 8; i++) {
      const [proxy] = proxies.slice(lane % 2)
      if (proxy !== undefined) statuses.push(await statusOf(proxy, METERED, 'paid'))
    }
  })
  await Promise.all(lanes)
  const count = (status: number) => statuses.filter((one) => one === status).length
  expect([count(200), count(402)]).toEqual([paidFor, statuses.length - paidFor])
  expect(world.upstream.calls.length - served).toBe(paidFor)
  await until(async () => (await balance(world)).held === 0, 'the settles')
  expect(await balance(world)).toEqual({ posted: 0, held: 0 })
})

test('the hold of a killed proxy ends with its lease, and the seen cost is charged', async () => {
  const program = await startProxyProgram(world)
  await world.store.ledger.topup({ account: ACCOUNT, epoch: 1, id: 'default/more', amount: 10 * PRICE })
  world.upstream.answer((_, res) => {
    res.writeHead(200, { 'content-type': 'text/event-stream' })
    const choices = [{ index: 0, delta: { content: 'word '.repeat(100) }, finish_reason: null }]
    res.write(
      `data: ${JSON.stringify({ id: 'c', object: 'chat.completion.chunk', created: 1, model: 'paid', choices })}\n\n`,
    )
  })
  const stream = ask(program, METERED, 'paid', { stream: true }).catch(() => 'cut')
  await until(async () => (await balance(world)).held === PRICE, 'the hold')
  // A renewal carries the seen cost; it comes every ten seconds and extends the lease.
  const end = await leaseEnd(world)
  clock.advance(1_000)
  await until(async () => (await leaseEnd(world)) > end, 'the renewal')
  process.kill(program.pid, 'SIGKILL')
  expect(await stream).toBe('cut')

  clock.advance(29_000)
  await world.store.ledger.reap(ACCOUNT, 10)
  expect((await balance(world)).held).toBe(PRICE)
  clock.advance(2_000)
  expect(await world.store.ledger.reap(ACCOUNT, 10)).toEqual([
    { account: ACCOUNT, id: expect.any(String), charged: PRICE },
  ])
  expect(await balance(world)).toEqual({ posted: 9 * PRICE, held: 0 })
})

/** When the only lease ends, in the server's time: a live hold is "H|requested|amount|seen|paid|end of lease|...". */
async function leaseEnd({ redis }: World): Promise<number> {
  const holds = z.array(z.string()).parse(await redis.command('HVALS', accountKeys(ACCOUNT).rsv))
  const [only] = holds.filter((hold) => hold.startsWith('H|'))
  return Number(only?.split('|')[5])
}
