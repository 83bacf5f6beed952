/** Many requests at once over three proxies on one Redis: the account pays for exactly as many as it has money for. */
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { WebSocket } from 'ws'
import { until } from '../../harness/gateway.ts'
import { ACCOUNT, ask, balance, METERED, PRICE, startWorld, type TestProxy, type World } from './world.ts'

/** BURST_ROUNDS raises the number of rounds, and then each is as large as the promise. */
const ROUNDS = Array.from({ length: Number(process.env.BURST_ROUNDS ?? 1) }, (_, i) => i + 1)
const REQUESTS = process.env.BURST_ROUNDS === undefined ? 300 : 1_000
/** A socket has one turn at a time. */
const SOCKETS_OF_A_PROXY = 20
/** Longer than a busy machine needs for one burst. */
const TIME_LIMIT = 60_000 * (1 + ROUNDS.length)

let world: World
let proxies: TestProxy[]
beforeAll(async () => {
  world = await startWorld({ funds: 0 })
  const env = {
    SLUICE_MAX_IN_FLIGHT_PER_CLIENT: '0',
    SLUICE_MAX_CONNECTIONS_PER_CLIENT: '0',
  }
  proxies = [
    await world.startProxy({ env }),
    await world.startProxy({ env }),
    await world.startProxy({ env }),
  ]
})
afterAll(() => world.stop())

const sockets = new Set<WebSocket>()
afterEach(() => {
  for (const socket of sockets) socket.terminate()
  sockets.clear()
})

/** Pays for `count` requests, makes more than that at once, and checks that exactly these were served. */
async function burst(count: number, id: string, make: () => Promise<number>[]): Promise<void> {
  const { upstream, store } = world
  const before = upstream.calls.length
  await store.ledger.topup({ account: ACCOUNT, epoch: 1, id: `default/${id}`, amount: count * PRICE })
  const statuses = await Promise.all(make())
  const served = statuses.filter((status) => status === 200).length
  const refused = statuses.filter((status) => status === 402).length
  expect([served, refused, statuses.length]).toEqual([count, REQUESTS - count, REQUESTS])
  expect(upstream.calls.length - before).toBe(count)
  await until(async () => (await balance(world)).held === 0, 'the settles')
  expect(await balance(world)).toEqual({ posted: 0, held: 0 })
}

/** A different number in each round, never none or all. */
const paidIn = (round: number) => (round * 137) % REQUESTS

describe.each(ROUNDS)('round %d', (round) => {
  test(
    'over HTTP',
    async () => {
      await burst(paidIn(round), `http-${round}`, () =>
        Array.from({ length: REQUESTS }, async (_, i) => {
          const { status } = await ask(proxyOf(i), METERED, 'paid', i % 2 === 0 ? { stream: true } : {})
          return status
        }),
      )
    },
    TIME_LIMIT,
  )

  test(
    'over WebSockets',
    async () => {
      const opened = await Promise.all(
        Array.from({ length: proxies.length * SOCKETS_OF_A_PROXY }, (_, i) => openTurns(proxyOf(i))),
      )
      await burst(paidIn(round + 1), `socket-${round}`, () =>
        Array.from({ length: REQUESTS }, (_, i) => turnOf(opened, i)()),
      )
    },
    TIME_LIMIT,
  )
})

const proxyOf = (i: number): TestProxy => proxies[i % proxies.length] as TestProxy
const turnOf = (opened: readonly (() => Promise<number>)[], i: number) =>
  opened[i % opened.length] as () => Promise<number>

/** A socket whose turns follow one another; each resolves with its status. */
async function openTurns({ base }: TestProxy): Promise<() => Promise<number>> {
  const socket = new WebSocket(`${base.replace('http', 'ws')}/v1/responses`, {
    headers: { authorization: `Bearer ${METERED}` },
    perMessageDeflate: false,
  })
  sockets.add(socket)
  await new Promise((resolve, reject) => socket.once('open', resolve).once('error', reject))
  let last = Promise.resolve(0)
  return () => {
    last = last.then(() => turn(socket))
    return last
  }
}

function turn(socket: WebSocket): Promise<number> {
  return new Promise((resolve, reject) => {
    const over = () => reject(new Error('the socket closed in its turn'))
    const listen = (data: unknown) => {
      const { type, status = 0 } = JSON.parse(String(data)) as { type: string; status?: number }
      if (type !== 'error' && type !== 'response.completed') return
      socket.off('message', listen).off('close', over)
      resolve(type === 'error' ? status : 200)
    }
    socket.on('message', listen).on('close', over)
    socket.send(JSON.stringify({ type: 'response.create', model: 'paid', input: 'Hello', store: false }))
  })
}
