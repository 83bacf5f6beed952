/** A server that stops, dies, is wiped or never answers: no command hangs, and everything recovers on its own. */
import { once } from 'node:events'
import { createServer, type Socket } from 'node:net'
import { setImmediate } from 'node:timers/promises'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { type Change, type Gap, type Store, StoreUnavailable } from '../../../store/contract.ts'
import { createRedisConnection } from '../../../store/redis/connection.ts'
import { createRedisStore } from '../../../store/redis/index.ts'
import { until } from '../../harness/gateway.ts'
import { type RunningRedis, startRedis, startRedisCluster } from '../../harness/redis.ts'
import { keyOf, publication, renewal, reservation, settlement, tableOf } from './fixtures.ts'
import { keyRing, silent } from './redis.ts'

const KEY = Buffer.alloc(32, 1).toString('base64')
/** Turns of the event loop within which a refusal arrives that waits for no answer and no timer. */
const AT_ONCE_TURNS = 10

interface Watched {
  store: Store
  /** Connections that were reported as not answering. */
  silent: string[]
  restored(): number
  seen: (Change | Gap)[]
}

async function watched(url: string): Promise<Watched> {
  const unanswered: string[] = []
  const warn = (fields: object, message: string) => {
    if (message === 'Redis does not answer in time') unanswered.push(JSON.stringify(fields))
  }
  const log = { ...silent, warn }
  const store = createRedisStore({ url, sealing: keyRing(`one:${KEY}`), log, instance: 'test' })
  let restored = 0
  store.onRestored(() => {
    restored += 1
  })
  const seen: (Change | Gap)[] = []
  await store.config.follow((change) => void seen.push(change))
  return { store, silent: unanswered, restored: () => restored, seen }
}

const EXCHANGE = { id: 'r', root: 'r', text: '{}' }
const ROOM = { exchangeBytes: 100, ownerBytes: 100 }

/** Every method that a request or a heartbeat waits for. */
const COMMANDS: Record<string, (store: Store) => Promise<unknown>> = {
  key: ({ config }) => config.key('h1'),
  account: ({ config }) => config.account('a1'),
  position: ({ config }) => config.position(),
  table: ({ config }) => config.table(),
  manifest: ({ config }) => config.manifest(),
  keyHashes: ({ config }) => config.keyHashes(),
  inspect: ({ config }) => config.inspect(),
  intact: ({ config }) => config.intact(),
  publish: ({ config }) => config.publish(publication(1, 2)),
  newEpoch: ({ config }) => config.newEpoch(),
  beat: ({ config }) => config.beat({ proxy: 'p', epoch: 1, generation: 1 }),
  heartbeats: ({ config }) => config.heartbeats(1_000),
  retire: ({ config }) => config.retire('p'),
  open: ({ ledger }) => ledger.open({ account: 'a', epoch: 1, create: true }),
  topup: ({ ledger }) => ledger.topup({ account: 'a', epoch: 1, id: 'c', amount: 1 }),
  reserve: async ({ ledger }) => ledger.reserve(reservation('r', 1)),
  renew: ({ ledger }) => ledger.renew('a', [renewal('r')]),
  settle: async ({ ledger }) => ledger.settle(settlement('r', 1, 0)),
  balance: ({ ledger }) => ledger.balance('a'),
  touch: ({ ledger }) => ledger.touch(['a']),
  touched: ({ ledger }) => ledger.touched(0, 1),
  walk: ({ ledger }) => ledger.walk(undefined, 1),
  affinity: ({ affinity }) => affinity.get('s'),
  response: ({ state }) => state.response('o', 'r'),
  keepResponse: ({ state }) => state.keepResponse('o', 'r', 1_000),
  putExchange: ({ state }) => state.putExchange('o', EXCHANGE, 1_000, ROOM),
  exchanges: ({ state }) => state.exchanges('o', { root: 'r', id: 'r' }, 1_000, 10),
  exchange: ({ state }) => state.exchange('o', 'r', 'r', 1_000),
  removeExchange: ({ state }) => state.removeExchange('o', 'r', 'r'),
  appendLog: async ({ state }) => state.appendLog('line'),
}

/** Resolves when the store refuses; fails if it answers otherwise. */
async function refusal(store: Store, command: (store: Store) => Promise<unknown>): Promise<void> {
  await expect(command(store)).rejects.toThrow(StoreUnavailable)
}

/** Lines of the log wait a few milliseconds for others. */
async function refusesAtOnce(store: Store): Promise<void> {
  for (const [name, command] of Object.entries(COMMANDS))
    if (name !== 'appendLog') await refusedAtOnce(name, () => command(store))
}

async function refusedAtOnce(name: string, command: () => Promise<unknown>): Promise<void> {
  let error: unknown
  command().catch((reason: unknown) => {
    error = reason
  })
  for (let turn = 0; turn < AT_ONCE_TURNS && error === undefined; turn++) await setImmediate()
  expect(error, name).toBeInstanceOf(StoreUnavailable)
}

async function refuses(store: Store): Promise<void> {
  await Promise.all(Object.values(COMMANDS).map((command) => refusal(store, command)))
}

const gaps = ({ seen }: Watched) => seen.filter((change) => 'gap' in change).length

/** A key published now is readable and announced. */
async function works({ store, seen }: Watched): Promise<void> {
  const epoch = await store.config.newEpoch()
  const { generation } = await store.config.position()
  const keys = { put: new Map([['h1', keyOf('one')]]), remove: [] }
  const next = publication(epoch, generation + 1, { keys, table: tableOf('small') })
  expect(await store.config.publish(next)).toBe('published')
  expect(await store.config.key('h1')).toEqual(keyOf('one'))
  await until(
    () => seen.some((change) => 'gap' in change || change.generation === generation + 1),
    'the publication to arrive',
  )
}

describe('one server', () => {
  let server: RunningRedis
  let watch: Watched
  beforeEach(async () => {
    server = await startRedis()
    watch = await watched(server.url)
    await works(watch)
  })
  afterEach(async () => {
    await watch.store.close()
    await server.stop()
  })

  test('paused: every method is refused in time', async () => {
    server.pause()
    await refuses(watch.store)
  })

  test('paused: soon everything is refused at once, and it recovers on resume', async () => {
    server.pause()
    await Promise.all(Array.from({ length: 8 }, () => refusal(watch.store, COMMANDS.key ?? fail)))
    await refusesAtOnce(watch.store)
    expect([watch.restored(), gaps(watch)]).toEqual([0, 0])
    await until(() => watch.silent.some((line) => line.includes('follow')), 'the follower to notice')
    server.resume()
    await until(() => watch.restored() > 0 && gaps(watch) > 0, 'the store to be restored')
    await works(watch)
  })

  test('alive, but a turn of this process takes longer than the time-out: nothing is refused', async () => {
    const connection = createRedisConnection({ url: server.url, name: 'busy', log: silent })
    try {
      await connection.primaries()
      // Keeps Redis busy for about 10 ms.
      const reply = connection.command(['EVAL', 'for n = 1, 2e6 do end return 1', '0'])
      const end = performance.now() + 600
      while (performance.now() < end);
      expect(await reply).toBe(1)
    } finally {
      await connection.close()
    }
  })

  test('killed: everything is refused at once, and it recovers after a restart', async () => {
    await server.kill()
    await until(
      () =>
        COMMANDS.key?.(watch.store).then(
          () => false,
          () => true,
        ),
      'the loss to be noticed',
    )
    await refusesAtOnce(watch.store)
    await server.restart()
    await until(() => watch.restored() > 0 && gaps(watch) > 0, 'the store to be restored')
    expect(await watch.store.config.position()).toEqual({ epoch: 0, generation: 0 })
    await works(watch)
  })

  test('killed with commands in flight: they are refused', async () => {
    server.pause()
    const waiting = Promise.all(
      Array.from({ length: 3 }, () => refusal(watch.store, COMMANDS.manifest ?? fail)),
    )
    await server.kill()
    await waiting
  })

  test('wiped: a follower learns of it without a publication', async () => {
    await server.command('FLUSHALL')
    await until(() => gaps(watch) === 1, 'a gap')
    await works(watch)
  })

  test('without its scripts: they are sent again', async () => {
    await server.command('SCRIPT', 'FLUSH')
    await works(watch)
  })

  test('not running at first', async () => {
    await server.kill()
    const early = await watched(server.url)
    try {
      await refusesAtOnce(early.store)
      await server.restart()
      await until(() => early.restored() > 0 && gaps(early) > 0, 'the store to be restored')
      await works(early)
    } finally {
      await early.store.close()
    }
  })
})

test('a port that accepts connections and never answers', async () => {
  const sockets: Socket[] = []
  const hole = createServer((socket) => void sockets.push(socket)).listen(0, '127.0.0.1')
  await once(hole, 'listening')
  const address = hole.address()
  const port = typeof address === 'object' ? address?.port : undefined
  const { store } = await watched(`redis://127.0.0.1:${port}`)
  try {
    await refuses(store)
  } finally {
    await store.close()
    for (const socket of sockets) socket.destroy()
    hole.close()
  }
})

test('one server of a Cluster is killed: the others serve, and it recovers after a restart', async () => {
  const cluster = await startRedisCluster({ args: ['--cluster-require-full-coverage', 'no'] })
  const watch = await watched(cluster.url)
  const { affinity } = watch.store
  try {
    await works(watch)
    const victim = cluster.nodes[0]
    const sessions = Array.from({ length: 30 }, (_, i) => `s${i}`)
    const set = (session: string) =>
      affinity.set(session, 'east', 60_000).then(
        () => 'set' as const,
        (error: unknown) => (error instanceof StoreUnavailable ? 'refused' : 'broken'),
      )
    expect(new Set(await Promise.all(sessions.map(set)))).toEqual(new Set(['set']))
    await victim?.kill()
    const replies = await Promise.all(sessions.map(set))
    expect(new Set(replies)).toEqual(new Set(['set', 'refused']))
    const lost = sessions.filter((_, i) => replies[i] === 'refused')
    const kept = sessions.filter((_, i) => replies[i] === 'set')
    const [one = ''] = lost
    await refusedAtOnce('a session of the dead node', () => affinity.set(one, 'east', 60_000))
    expect(await Promise.all(lost.map(set))).toEqual(lost.map(() => 'refused'))
    expect(await Promise.all(kept.map(set))).toEqual(kept.map(() => 'set'))
    await victim?.restart()
    await until(() => watch.restored() > 0, 'the server to be back')
    await until(
      async () => (await Promise.all(sessions.map(set))).every((reply) => reply === 'set'),
      'every method to work again',
    )
  } finally {
    await watch.store.close()
    await cluster.stop()
  }
})

function fail(): never {
  throw new Error('no such command')
}
