import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { objectId } from '../../contract/ids.ts'
import {
  type AccountRecord,
  type ChannelRecord,
  type KeyRecord,
  type RouteRecord,
  TABLE_VERSION,
} from '../../contract/table/records.ts'
import { type Publication, type Store, StoreUnavailable } from '../../store/contract.ts'
import { createEmbeddedStore } from '../../store/embedded/index.ts'
import type { Compiled, Removal, Touched } from '../snapshot.ts'
import { CreditApplier } from './credits.ts'
import { Publisher, type PublishResult } from './publisher.ts'

const TEAM = objectId('default', 'team')
const NOW = 1_700_000_000_000

const key: KeyRecord = {
  version: 1,
  id: objectId('default', 'alice'),
  namespace: 'default',
  name: 'alice',
  preview: '...',
  disabled: false,
  models: [],
  allowedIPs: [],
  account: TEAM,
}
const account: AccountRecord = {
  version: 1,
  id: TEAM,
  namespace: 'default',
  name: 'team',
  disabled: false,
  enforced: true,
  overdraft: 0,
}
const route: RouteRecord = {
  name: 'small',
  model: 'small',
  created: 0,
  targets: [],
  affinity: { mode: 'None', ttlMs: 0 },
  retry: { attempts: 1, on: [] },
  conversion: { unsupported: 'Drop' },
  rewriteModel: false,
  free: true,
  display: {},
}
const channels: Record<string, ChannelRecord> = {}

interface Wish {
  routes?: RouteRecord[]
  keys?: [string, KeyRecord][]
  accounts?: AccountRecord[]
  credits?: { id: string; amount: number }[]
}

function compiled({ routes = [route], keys = [], accounts = [account], credits = [] }: Wish = {}): Compiled {
  return {
    table: { version: TABLE_VERSION, namespaces: { default: { routes, channels } } },
    keys: new Map(keys),
    accounts: new Map(accounts.map((record) => [record.id, record])),
    credits: credits.map((credit) => ({ ...credit, account: TEAM })),
    statuses: [],
    until: Number.POSITIVE_INFINITY,
  }
}

let store: Store
let publications: Publication[]
let logged: string[]
let results: PublishResult[]
let publisher: Publisher
let credits: CreditApplier
/** Runs while the next publication is on its way. */
let during: () => Promise<unknown>
let removals: Removal[]
/** Errors of the next calls of publish: before or after the store has executed it. */
let failures: ('before' | 'after')[]

function start(options: { now?: () => number; savedEpoch?: () => Promise<number> } = {}): void {
  const note = (_: object, message: string) => logged.push(message)
  const log = { info: note, warn: note, error: note }
  const onResult = (result: PublishResult) => results.push(result)
  const onRemoval = (removal: Removal) => removals.push(removal)
  const now = () => NOW
  credits = new CreditApplier({ ledger: store.ledger, log, now })
  publisher = new Publisher({ store, credits, log, now, onResult, onRemoval, ...options })
}

/** Submits and waits for its result. */
async function publish(wish: Compiled, touched?: Touched) {
  const count = results.length
  publisher.submit(wish, touched)
  await vi.waitFor(() => expect(results.length).toBe(count + 1), { interval: 2 })
  const result = results.at(-1)
  if (result?.outcome !== 'published') throw new Error(`not published: ${result?.outcome}`)
  return result
}

beforeEach(() => {
  const embedded = createEmbeddedStore()
  publications = []
  logged = []
  results = []
  removals = []
  failures = []
  during = async () => {}
  const config = {
    ...embedded.config,
    async publish(publication: Publication) {
      const failure = failures.shift()
      if (failure === 'before') throw new StoreUnavailable('before')
      await during()
      const reply = await embedded.config.publish(publication)
      if (failure === 'after') throw new StoreUnavailable('after')
      publications.push(publication)
      return reply
    },
  }
  store = { ...embedded, config }
  start()
})

afterEach(async () => {
  await publisher.stop()
  await store.close()
})

describe('a publication', () => {
  it('contains table, keys and accounts, with a generation above the clock', async () => {
    const { generation } = await publish(compiled({ keys: [['hash', key]] }))
    expect(generation).toBe(NOW + 1)
    expect((await store.config.table())?.table).toEqual(compiled().table)
    expect(await store.config.key('hash')).toEqual(key)
    expect(await store.config.account(TEAM)).toEqual(account)
  })

  it('is skipped when nothing differs, regardless of the order of records', async () => {
    const { generation } = await publish(compiled({ keys: [['hash', key]] }))
    const { version, ...rest } = key
    const again = await publish(compiled({ keys: [['hash', { ...rest, version }]] }))
    expect(again.generation).toBe(generation)
    expect(publications).toHaveLength(1)
  })

  it('contains only records that differ', async () => {
    await publish(compiled({ keys: [['hash', key]] }))
    await publish(compiled({ keys: [['hash', { ...key, disabled: true }]] }))
    expect(publications[1]?.table).toBeUndefined()
    expect([...(publications[1]?.keys.put.keys() ?? [])]).toEqual(['hash'])
    expect(publications[1]?.accounts.put.size).toBe(0)
    expect((await store.config.key('hash'))?.disabled).toBe(true)
  })

  it('removes records that are gone', async () => {
    await publish(compiled({ keys: [['hash', key]] }))
    await publish(compiled({ accounts: [] }))
    expect(await store.config.key('hash')).toBeUndefined()
    expect(await store.config.account(TEAM)).toBeUndefined()
  })

  it('continues after another process, and removes its orphans', async () => {
    await publish(
      compiled({
        keys: [
          ['hash', key],
          ['orphan', key],
        ],
      }),
    )
    const before = publications[0]?.generation ?? 0
    await publisher.stop()
    start({ now: () => 5 })
    const { generation } = await publish(compiled({ keys: [['hash', key]] }))
    expect(generation).toBe(before + 1)
    expect(publications[1]?.epoch).toBe(2)
    expect(publications[1]?.table).toBeUndefined()
    expect(publications[1]?.keys).toEqual({ put: new Map(), remove: ['orphan'] })
  })

  it('is above what any proxy has seen', async () => {
    await store.config.beat({ proxy: 'p', epoch: 9, generation: NOW + 500 })
    expect((await publish(compiled())).generation).toBe(NOW + 501)
  })
})

describe('a repair', () => {
  it('that comes during the first publication of a term follows it', async () => {
    const manifest = vi.spyOn(store.config, 'manifest')
    const inspect = vi.spyOn(store.config, 'inspect')
    const slow = Promise.withResolvers<void>()
    const { open } = store.ledger
    vi.spyOn(store.ledger, 'open').mockImplementation(async (command) => {
      await slow.promise
      return open(command)
    })
    publisher.submit(compiled())
    publisher.repair()
    expect(inspect).not.toHaveBeenCalled()
    slow.resolve()
    await vi.waitFor(() => expect(results).toHaveLength(2), { interval: 2 })
    expect([manifest.mock.calls.length, inspect.mock.calls.length]).toEqual([1, 1])
    await publish(compiled())
    expect(inspect).toHaveBeenCalledTimes(1)
  })
})

describe('a job with the changed records', () => {
  const nothing = (): Touched => ({
    ...{ table: false, keys: new Map(), accounts: new Map(), credits: new Map(), statuses: new Map() },
  })

  it('writes and removes only those', async () => {
    await publish(compiled({ keys: [['hash', key]] }))
    const touched = { ...nothing(), keys: new Map([['new', key]]) }
    // Other records are not compared.
    await publish(compiled({ routes: [] }), touched)
    expect(await store.config.key('new')).toEqual(key)
    expect(await store.config.key('hash')).toEqual(key)
    expect((await store.config.table())?.table).toEqual(compiled().table)
    await publish(compiled(), { ...nothing(), keys: new Map([['new', undefined]]) })
    expect(await store.config.key('new')).toBeUndefined()
    expect(publications.at(-1)?.keys.remove).toEqual(['new'])
  })

  it('is not lost when a newer one arrives before it has begun', async () => {
    await publish(compiled())
    const wish = compiled({
      keys: [
        ['one', key],
        ['two', key],
      ],
    })
    publisher.submit(wish, { ...nothing(), keys: new Map([['zero', key]]) })
    publisher.submit(wish, { ...nothing(), keys: new Map([['one', key]]) })
    publisher.submit(wish, { ...nothing(), keys: new Map([['two', key]]) })
    await vi.waitFor(async () => expect(await store.config.key('two')).toEqual(key), { interval: 2 })
    expect(await store.config.key('one')).toEqual(key)
  })

  it('is followed by a complete comparison if the store fails', async () => {
    await publish(compiled())
    failures = ['before']
    const wish = compiled({ keys: [['one', key]] })
    publisher.submit(wish, { ...nothing(), keys: new Map([['one', key]]) })
    await vi.waitFor(() => expect(logged.join()).toContain('will retry'), { interval: 2 })
    await publish(wish, nothing())
    expect(await store.config.key('one')).toEqual(key)
  })
})

describe('money', () => {
  it('is available before the key that needs it', async () => {
    let balance: number | undefined
    const changes = await store.config.follow(() => {
      void store.ledger.balance(TEAM).then((found) => {
        balance ??= found?.posted
      })
    })
    await publish(compiled({ keys: [['hash', key]], credits: [{ id: 'default/start', amount: 7 }] }))
    await vi.waitFor(() => expect(balance).toBe(7))
    await changes()
  })

  it('is applied once: applied, applied before, or refused for another amount', async () => {
    const credits = [{ id: 'default/start', amount: 7 }]
    const outcome = (result: Awaited<ReturnType<typeof publish>>) =>
      result.credits.results.get('default/start')?.outcome
    const first = await publish(compiled({ credits }))
    expect(first.credits.results.get('default/start')).toEqual({ outcome: 'applied', appliedAt: NOW })
    // What this process applied stays "applied".
    expect(outcome(await publish(compiled({ credits, keys: [['hash', key]] })))).toBe('applied')
    await publisher.stop()
    start()
    expect(outcome(await publish(compiled({ credits })))).toBe('already')
    expect(outcome(await publish(compiled({ credits: [{ id: 'default/start', amount: 8 }] })))).toBe(
      'conflict',
    )
    expect((await store.ledger.balance(TEAM))?.posted).toBe(7)
  })

  it('is in the result with the last answer of the ledger, which came while the rest was published', async () => {
    const wish = compiled({ credits: [{ id: 'default/start', amount: 7 }] })
    during = async () => {
      await store.ledger.topup({ id: 'default/more', account: TEAM, amount: 2, epoch: 1 })
      await credits.read(wish)
    }
    expect((await publish(wish)).credits.funds.get(TEAM)?.credited).toBe(9)
  })

  it('counts each credit once, including deleted ones', async () => {
    const one = { id: 'default/one', amount: 7 }
    await publish(compiled({ credits: [one, { id: 'default/two', amount: -2 }] }))
    await publish(compiled({ credits: [{ ...one, amount: 9 }] }))
    const { credits } = await publish(compiled({ credits: [one] }))
    expect(credits.funds.get(TEAM)?.credited).toBe(5)
  })
})

describe('a new leader', () => {
  const wish = { keys: [['hash', key]] satisfies [string, KeyRecord][] }
  const credits = [{ id: 'default/start', amount: 7 }]

  it('that takes over removes a key before it knows the checkpoint, and applies money after it', async () => {
    await publish(compiled(wish))
    await publisher.stop()
    const saved = Promise.withResolvers<number>()
    start({ savedEpoch: () => saved.promise })
    publisher.submit(compiled({ credits }))
    try {
      await vi.waitFor(async () => expect(await store.config.key('hash')).toBeUndefined(), { interval: 2 })
      expect(results).toHaveLength(1)
      expect((await store.ledger.balance(TEAM))?.posted).toBe(0)
    } finally {
      saved.resolve(1)
    }
    await vi.waitFor(() => expect(results).toHaveLength(2), { interval: 2 })
    expect((await store.ledger.balance(TEAM))?.posted).toBe(7)
  })

  it('begins a term above that of the checkpoint, which the store has forgotten', async () => {
    await publish(compiled(wish))
    await publisher.stop()
    start({ savedEpoch: async () => 40 })
    const before = results.length
    publisher.submit(compiled({ ...wish, credits }))
    await vi.waitFor(() => expect(results.length).toBe(before + 1))
    expect(publisher.position?.epoch).toBe(41)
    expect((await store.ledger.balance(TEAM))?.posted).toBe(7)
  })

  it('of an empty store publishes nothing before it knows the checkpoint', async () => {
    const saved = Promise.withResolvers<number>()
    const asked = vi.fn(() => saved.promise)
    start({ savedEpoch: asked })
    publisher.submit(compiled({ ...wish, credits }))
    await vi.waitFor(() => expect(asked).toHaveBeenCalled(), { interval: 2 })
    const before = await store.config.position()
    saved.resolve(40)
    expect(before).toEqual({ epoch: 0, generation: 0 })
    await vi.waitFor(() => expect(results).toHaveLength(1), { interval: 2 })
    expect(publisher.position?.epoch).toBe(41)
  })
})

describe('a credit that fails', () => {
  const disabled = compiled({ keys: [['hash', { ...key, disabled: true }]] })

  it('because of its size does not affect others, and a disabled key is published', async () => {
    const half = 8_999_999_999_999_999
    const credits = [
      { id: 'default/one', amount: half },
      { id: 'default/two', amount: half },
      { id: 'default/three', amount: 5 },
    ]
    await publish(compiled({ keys: [['hash', key]] }))
    const result = await publish(compiled({ keys: [['hash', { ...key, disabled: true }]], credits }))
    const outcomes = credits.map(({ id }) => result.credits.results.get(id)?.outcome)
    expect(outcomes).toEqual(['applied', 'limit', 'applied'])
    expect((await store.config.key('hash'))?.disabled).toBe(true)
    expect(result.credits.funds.get(TEAM)?.credited).toBe(half + 5)
  })

  it('unexpectedly is retried without the others', async () => {
    const { topup } = store.ledger
    const broken = vi.spyOn(store.ledger, 'topup').mockImplementation(async (command) => {
      if (command.id === 'default/bad') throw new RangeError('no')
      return topup(command)
    })
    const credits = ['default/bad', 'default/good'].map((id) => ({ id, amount: 5 }))
    publisher.submit(compiled({ keys: [['hash', key]], credits }))
    await vi.waitFor(async () => expect((await store.ledger.balance(TEAM))?.posted).toBe(5))
    await vi.waitFor(async () => expect(await store.config.key('hash')).toEqual(key))
    broken.mockRestore()
    await vi.waitFor(async () => expect((await store.ledger.balance(TEAM))?.posted).toBe(10))
  })

  it('because the ledger is unreachable delays no revocation, and is applied later', async () => {
    await publish(compiled({ keys: [['hash', key]] }))
    const away = vi.spyOn(store.ledger, 'topup').mockRejectedValue(new StoreUnavailable('away'))
    const credits = [{ id: 'default/start', amount: 7 }]
    publisher.submit(compiled({ keys: [['hash', key]], credits }))
    // By now, the pause between two attempts is longer than a revocation may take.
    await vi.waitFor(() => expect(away.mock.calls.length).toBeGreaterThanOrEqual(4))
    publisher.submit({ ...disabled, credits: credits.map((credit) => ({ ...credit, account: TEAM })) })
    await vi.waitFor(async () => expect((await store.config.key('hash'))?.disabled).toBe(true), {
      interval: 2,
    })
    expect(away.mock.calls.length).toBeGreaterThanOrEqual(4)
    away.mockRestore()
    await vi.waitFor(async () => expect((await store.ledger.balance(TEAM))?.posted).toBe(7), {
      timeout: 5_000,
    })
    await vi.waitFor(() =>
      expect(results.at(-1)).toMatchObject({
        credits: { results: new Map([['default/start', { outcome: 'applied' }]]) },
      }),
    )
  })
})

describe('an empty table', () => {
  it('replaces one with routes, and the next one is in force too', async () => {
    await publish(compiled())
    await publish(compiled({ routes: [] }))
    expect((await store.config.table())?.table).toEqual(compiled({ routes: [] }).table)
    await publish(compiled())
    expect((await store.config.table())?.table).toEqual(compiled().table)
  })
})

describe('a store that fails', () => {
  it.each(['before', 'after'] as const)(
    'gets the publication again if it failed %s executing it',
    async (failure) => {
      failures = [failure]
      await publish(compiled({ keys: [['hash', key]] }))
      expect(await store.config.key('hash')).toEqual(key)
      // Records that were stored are found and not written again.
      expect(publications).toHaveLength(failure === 'before' ? 1 : 0)
      expect(logged.join()).toContain('will retry')
    },
  )

  it('does not lose a later job, and skips the older one', async () => {
    failures = ['before', 'before']
    publisher.submit(compiled({ keys: [['old', key]] }))
    await vi.waitFor(() => expect(logged).toHaveLength(1), { interval: 2 })
    await publish(compiled({ keys: [['new', key]] }))
    expect(await store.config.key('new')).toEqual(key)
    expect(await store.config.key('old')).toBeUndefined()
  })

  it('does not lose a job that arrives while it is slow', async () => {
    publisher.submit(compiled({ keys: [['old', key]] }))
    publisher.submit(compiled({ keys: [['new', key]] }))
    await vi.waitFor(async () => expect(await store.config.key('new')).toEqual(key), { interval: 2 })
    expect(await store.config.key('old')).toBeUndefined()
  })

  it('does not delay stop', async () => {
    failures = Array.from({ length: 100 }, () => 'before' as const)
    publisher.submit(compiled())
    await vi.waitFor(() => expect(logged.length).toBeGreaterThan(0), { interval: 2 })
    await publisher.stop()
    expect(results).toEqual([])
  })

  it('is read again if another process has written to it', async () => {
    await publish(compiled())
    // Like a publication that this process does not know.
    await store.config.publish({
      epoch: 1,
      generation: NOW + 1_000,
      keys: { put: new Map([['foreign', key]]), remove: [] },
      accounts: { put: new Map(), remove: [] },
    })
    const { generation } = await publish(compiled({ keys: [['hash', key]] }))
    expect(generation).toBe(NOW + 1_001)
    expect(await store.config.key('foreign')).toBeUndefined()
  })
})

describe('a newer controller', () => {
  it('stops this one', async () => {
    await publish(compiled())
    await store.config.newEpoch()
    publisher.submit(compiled({ keys: [['hash', key]] }))
    await vi.waitFor(() => expect(results.at(-1)).toEqual({ outcome: 'fenced' }), { interval: 2 })
    publisher.submit(compiled({ keys: [['other', key]], credits: [{ id: 'default/late', amount: 5 }] }))
    await publisher.stop()
    expect(await store.config.key('hash')).toBeUndefined()
    expect(await store.config.key('other')).toBeUndefined()
    expect((await store.ledger.balance(TEAM))?.posted).toBe(0)
  })
})

describe('a store that was wiped', () => {
  /** Replaces the store by an empty one. */
  function wipe(): void {
    const fresh = createEmbeddedStore()
    Object.assign(store.config, fresh.config)
    Object.assign(store.ledger, fresh.ledger)
  }

  it('is noticed without a change, and gets everything again with a higher epoch', async () => {
    await store.config.newEpoch(41)
    await publish(compiled({ keys: [['hash', key]] }))
    expect(publisher.position?.epoch).toBe(43)
    wipe()
    await publisher.verify()
    await vi.waitFor(() => expect(results).toHaveLength(2), { interval: 2 })
    expect(await store.config.key('hash')).toEqual(key)
    expect((await store.config.table())?.table).toEqual(compiled().table)
    expect((await store.config.position()).epoch).toBeGreaterThan(43)
  })

  it('is noticed by a change, too, which does not mistake it for a newer controller', async () => {
    await publish(compiled({ keys: [['hash', key]] }))
    wipe()
    const other = { ...key, name: 'bob' }
    await publish(
      compiled({
        keys: [
          ['hash', key],
          ['other', other],
        ],
      }),
    )
    expect(await store.config.key('hash')).toEqual(key)
    expect(await store.config.key('other')).toEqual(other)
  })

  it('gets an epoch above what proxies have seen', async () => {
    await store.config.beat({ proxy: 'p', epoch: 70, generation: 1 })
    await publish(compiled())
    expect(publisher.position?.epoch).toBe(71)
  })

  it('is not read before the first publication, and not changed while it has the published position', async () => {
    await publisher.verify()
    await publish(compiled())
    await publisher.verify()
    expect(results).toHaveLength(1)
    expect(publications).toHaveLength(1)
  })
})

describe('a newer controller that has published nothing yet', () => {
  it('is noticed by its epoch', async () => {
    await publish(compiled())
    await store.config.newEpoch()
    await publisher.verify()
    expect(results.at(-1)).toEqual({ outcome: 'fenced' })
  })
})

describe('a removal of most', () => {
  const many = (from: number, to: number, namespace = 'default') =>
    Array.from({ length: to - from }, (_, i): [string, KeyRecord] => [
      `hash-${from + i}`,
      { ...key, namespace },
    ])
  const routes = (count: number) =>
    Array.from({ length: count }, (_, i) => ({
      ...route,
      name: `r${i}`,
      targets: [{ channel: 'c', priority: 0, weight: 1 }],
    }))
  const stored = async () => (await store.config.manifest()).keys.size

  it('is in force at once, and is reported with numbers and namespaces', async () => {
    await publish(compiled({ keys: [...many(0, 30, 'one'), ...many(30, 35, 'two')] }))
    await publish(compiled({ keys: many(30, 35, 'two') }))
    expect(await stored()).toBe(5)
    await publisher.stop()
    expect(removals).toMatchObject([
      { at: NOW, message: expect.stringMatching(/^30 of 35 keys were removed at once/), namespaces: ['one'] },
    ])
  })

  it('at the start of a term is in force, too', async () => {
    await publish(compiled({ keys: many(0, 30), routes: routes(20) }))
    await publisher.stop()
    start()
    await publish(compiled({ keys: many(0, 10), routes: routes(3) }))
    expect(await stored()).toBe(10)
    expect((await store.config.table())?.table.namespaces.default?.routes).toHaveLength(3)
    await publisher.stop()
    expect(removals).toMatchObject([
      { message: expect.stringMatching(/^20 of 30 keys and 17 of 20 routes were/), namespaces: ['default'] },
    ])
  })
})
