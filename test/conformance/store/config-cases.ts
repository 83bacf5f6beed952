import { expect, test, vi } from 'vitest'
import { TABLE_VERSION } from '../../../contract/table/records.ts'
import type { Change, ConfigStore, Gap } from '../../../store/contract.ts'
import { digest } from '../../../store/digest.ts'
import { accountOf, keyOf, publication, tableOf } from './fixtures.ts'
import type { Current } from './under-test.ts'

export function configCases(current: Current): void {
  const config = () => current().store.config

  test('is empty at first', async () => {
    expect(await config().table()).toBeUndefined()
    expect(await config().key('h1')).toBeUndefined()
    expect(await config().account('a1')).toBeUndefined()
    expect(await config().heartbeats(60_000)).toEqual([])
    expect(await config().manifest()).toEqual({
      epoch: 0,
      generation: 0,
      keys: new Map(),
      accounts: new Map(),
    })
  })

  test('one candidate leads until it resigns or its time is over', async () => {
    expect(await config().lead('a', 60_000)).toBe('a')
    expect(await config().lead('b', 60_000)).toBe('a')
    expect(await config().lead('a', 60_000)).toBe('a')
    await config().resign('b')
    expect(await config().lead('b', 60_000)).toBe('a')
    await config().resign('a')
    expect(await config().lead('b', 10_000)).toBe('b')
    await current().advance(6_000)
    expect(await config().lead('c', 10_000)).toBe('b')
    // The renewal counts from now on.
    expect(await config().lead('b', 10_000)).toBe('b')
    await current().advance(6_000)
    expect(await config().lead('c', 10_000)).toBe('b')
    await current().advance(4_500)
    expect(await config().lead('c', 10_000)).toBe('c')
  })

  test('epochs rise by one', async () => {
    expect([await config().newEpoch(), await config().newEpoch()]).toEqual([1, 2])
    expect((await config().manifest()).epoch).toBe(2)
  })

  test('a new epoch is higher than the one that a leader remembers', async () => {
    expect([await config().newEpoch(7), await config().newEpoch(3)]).toEqual([8, 9])
  })

  test('the position is the stored one, and a heartbeat returns it', async () => {
    expect(await config().position()).toEqual({ epoch: 0, generation: 0 })
    const epoch = await config().newEpoch()
    await config().publish(publication(epoch, 5, { table: tableOf('small') }))
    expect(await config().position()).toEqual({ epoch, generation: 5 })
    expect(await config().beat({ proxy: 'p', epoch: 0, generation: 0 })).toEqual({ epoch, generation: 5 })
  })

  test('a publication writes table, keys and accounts', async () => {
    const epoch = await config().newEpoch()
    const reply = await config().publish(
      publication(epoch, 5, {
        table: tableOf('small'),
        keys: { put: new Map([['h1', keyOf('one')]]), remove: [] },
        accounts: { put: new Map([['a1', accountOf('team')]]), remove: [] },
      }),
    )
    expect(reply).toBe('published')
    expect(await config().table()).toEqual({ epoch, generation: 5, table: tableOf('small') })
    expect(await config().key('h1')).toEqual(keyOf('one'))
    expect(await config().account('a1')).toEqual(accountOf('team'))
  })

  test('the manifest lists stored records by digest', async () => {
    const epoch = await config().newEpoch()
    await config().publish(
      publication(epoch, 5, {
        table: tableOf('small'),
        keys: {
          put: new Map([
            ['h1', keyOf('one')],
            ['h2', keyOf('two')],
          ]),
          remove: [],
        },
        accounts: { put: new Map([['a1', accountOf('team')]]), remove: [] },
      }),
    )
    await config().publish(publication(epoch, 6, { keys: { put: new Map(), remove: ['h1'] } }))
    expect(await config().manifest()).toEqual({
      epoch,
      generation: 6,
      table: digest(tableOf('small')),
      keys: new Map([['h2', digest(keyOf('two'))]]),
      accounts: new Map([['a1', digest(accountOf('team'))]]),
    })
    expect(await config().keyHashes()).toEqual(new Set(['h2']))
  })

  test('unchanged data is intact, and an inspection agrees with the manifest', async () => {
    const spoilt = { table: 0, key: 0, account: 0 }
    expect(await config().intact()).toBe(true)
    expect(await config().inspect()).toEqual({ ...(await config().manifest()), spoilt })
    const epoch = await config().newEpoch()
    const put = new Map(Array.from({ length: 30 }, (_, i) => [`h${i}`, keyOf(`k${i}`)]))
    const accounts = { put: new Map([['a1', accountOf('team')]]), remove: [] }
    await config().publish(
      publication(epoch, 5, { table: tableOf('small'), keys: { put, remove: [] }, accounts }),
    )
    await config().publish(publication(epoch, 6, { keys: { put: new Map(), remove: ['h1'] } }))
    expect(await config().intact()).toBe(true)
    const inspected = await config().inspect()
    expect(inspected).toEqual({ ...(await config().manifest()), spoilt })
    expect([inspected.generation, inspected.keys.size]).toEqual([6, 29])
  })

  test('a publication without a table keeps the table under the new generation', async () => {
    const epoch = await config().newEpoch()
    await config().publish(publication(epoch, 5, { table: tableOf('small') }))
    await config().publish(
      publication(epoch, 6, { keys: { put: new Map([['h1', keyOf('one')]]), remove: [] } }),
    )
    expect(await config().table()).toEqual({ epoch, generation: 6, table: tableOf('small') })
  })

  test('records are replaced and removed', async () => {
    const epoch = await config().newEpoch()
    const put = (name: string) => ({
      keys: { put: new Map([['h1', keyOf(name)]]), remove: [] },
      accounts: { put: new Map([['a1', accountOf(name)]]), remove: [] },
    })
    await config().publish(publication(epoch, 1, put('one')))
    await config().publish(publication(epoch, 2, put('two')))
    expect([await config().key('h1'), await config().account('a1')]).toEqual([keyOf('two'), accountOf('two')])
    const remove = { put: new Map(), remove: ['never', 'h1', 'a1'] }
    await config().publish(publication(epoch, 3, { keys: remove, accounts: remove }))
    expect([await config().key('h1'), await config().account('a1')]).toEqual([undefined, undefined])
  })

  test('a stored record is independent of the object that was passed in', async () => {
    const epoch = await config().newEpoch()
    const given = keyOf('one')
    const table = tableOf('small')
    await config().publish(
      publication(epoch, 1, { table, keys: { put: new Map([['h1', given]]), remove: [] } }),
    )
    given.models.push('changed')
    given.disabled = true
    table.namespaces.default?.routes.pop()
    expect(await config().key('h1')).toEqual(keyOf('one'))
    expect((await config().table())?.table).toEqual(tableOf('small'))
    const read = await config().key('h1')
    try {
      read?.models.push('changed')
    } catch {
      // A store may hand out frozen records or copies.
    }
    expect(await config().key('h1')).toEqual(keyOf('one'))
  })

  test.each([
    ['fenced', 'an older epoch', { epoch: 1, generation: 9 }],
    ['fenced', 'an epoch that was never issued', { epoch: 3, generation: 9 }],
    ['stale', 'the stored generation', { epoch: 2, generation: 5 }],
    ['stale', 'a lower generation', { epoch: 2, generation: 4 }],
  ])('%s: refuses %s, writes nothing and announces nothing', async (expected, _what, given) => {
    await config().newEpoch()
    await config().newEpoch()
    await config().publish(publication(2, 5, { table: tableOf('small') }))
    const before = await config().manifest()
    const seen = await followed(config())
    const put = { put: new Map([['h9', keyOf('nine')]]), remove: [] }
    const { epoch, generation, ...rest } = given
    expect(await config().publish(publication(epoch, generation, { keys: put, ...rest }))).toBe(expected)
    expect(await config().manifest()).toEqual(before)
    expect(await config().key('h9')).toBeUndefined()
    await config().publish(publication(2, 10))
    await vi.waitFor(() => expect(seen.length).toBeGreaterThan(0))
    expect(seen.map(generationOf)).toEqual([10])
  })

  test('a table without routes replaces one with routes like any other', async () => {
    const epoch = await config().newEpoch()
    const empty = { version: TABLE_VERSION, namespaces: {} }
    expect(await config().publish(publication(epoch, 1, { table: empty }))).toBe('published')
    expect(await config().publish(publication(epoch, 2, { table: tableOf() }))).toBe('published')
    expect(await config().publish(publication(epoch, 3, { table: tableOf('small') }))).toBe('published')
    expect(await config().publish(publication(epoch, 4, { table: empty }))).toBe('published')
    expect((await config().table())?.table).toEqual(empty)
  })

  test('changes reach every follower in order and name what they touched', async () => {
    const epoch = await config().newEpoch()
    await config().publish(publication(epoch, 1))
    const followers = [await followed(config()), await followed(config())]
    await config().publish(
      publication(epoch, 2, {
        keys: { put: new Map([['h1', keyOf('one')]]), remove: ['h2'] },
        accounts: { put: new Map([['a1', accountOf('team')]]), remove: ['a2'] },
      }),
    )
    for (let generation = 3; generation <= 30; generation++)
      await config().publish(publication(epoch, generation, { table: tableOf(`m${generation}`) }))
    for (const seen of followers) {
      await vi.waitFor(() => expect(seen).toHaveLength(29))
      expect(seen[0]).toEqual({
        epoch,
        generation: 2,
        table: false,
        keys: ['h1', 'h2'],
        accounts: ['a1', 'a2'],
      })
      expect(seen[1]).toEqual({ epoch, generation: 3, table: true, keys: [], accounts: [] })
      expect(seen.map(generationOf)).toEqual(Array.from({ length: 29 }, (_, i) => i + 2))
    }
  })

  test('a follower can read the record that a change names', async () => {
    const epoch = await config().newEpoch()
    const read: unknown[] = []
    await config().follow(async () => read.push(await config().key('h1')))
    await config().publish(
      publication(epoch, 1, { keys: { put: new Map([['h1', keyOf('one')]]), remove: [] } }),
    )
    await vi.waitFor(() => expect(read).toEqual([keyOf('one')]))
  })

  test('a follower that throws disturbs neither the publisher nor other followers', async () => {
    const epoch = await config().newEpoch()
    await config().follow(() => {
      throw new Error('follower failed')
    })
    const seen = await followed(config())
    expect(await config().publish(publication(epoch, 1))).toBe('published')
    expect(await config().publish(publication(epoch, 2))).toBe('published')
    await vi.waitFor(() => expect(seen.map(generationOf)).toEqual([1, 2]))
  })

  test('a listener that stops following gets no more changes and may follow again', async () => {
    const epoch = await config().newEpoch()
    const left: (Change | Gap)[] = []
    const leave = await config().follow((change) => void left.push(change))
    const stayed = await followed(config())
    await config().publish(publication(epoch, 1))
    await vi.waitFor(() => expect(left).toHaveLength(1))
    await leave()
    await leave()
    await config().publish(publication(epoch, 2))
    await vi.waitFor(() => expect(stayed).toHaveLength(2))
    expect(left.map(generationOf)).toEqual([1])
  })

  test('a listener that stops following does not get changes still on their way', async () => {
    const epoch = await config().newEpoch()
    const left: (Change | Gap)[] = []
    const leave = await config().follow((change) => void left.push(change))
    const stayed = await followed(config())
    await Promise.all([config().publish(publication(epoch, 1)), leave()])
    await vi.waitFor(() => expect(stayed).toHaveLength(1))
    expect(left).toEqual([])
  })

  test('heartbeats report failing channels until they recover', async () => {
    const trouble = { channel: 'a/b', lastFailure: 'transient', since: 1_000, ejected: true } as const
    const beat = { proxy: 'p', epoch: 1, generation: 7 }
    await config().beat({ ...beat, troubles: [trouble] })
    await config().beat({ ...beat, proxy: 'other' })
    const beatOfP = async () => (await config().heartbeats(60_000)).find(({ proxy }) => proxy === 'p')
    expect(await beatOfP()).toEqual({ ...beat, troubles: [trouble] })
    expect(await config().heartbeats(60_000)).toHaveLength(2)
    await config().beat(beat)
    expect(await beatOfP()).toEqual(beat)
    await config().beat({ ...beat, troubles: [trouble] })
    await config().retire('p')
    expect(await beatOfP()).toBeUndefined()
    await config().beat(beat)
    expect(await beatOfP()).toEqual(beat)
  })

  test('heartbeats: the newest of each proxy, until it is too old', async () => {
    const beat = (proxy: string, generation: number) => config().beat({ proxy, epoch: 1, generation })
    const liveBeats = async () =>
      (await config().heartbeats(5_000)).map((b) => `${b.proxy}:${b.generation}`).sort()
    await beat('p1', 7)
    await beat('p2', 7)
    await current().advance(3_000)
    await beat('p1', 8)
    expect(await liveBeats()).toEqual(['p1:8', 'p2:7'])
    await current().advance(3_000)
    expect(await liveBeats()).toEqual(['p1:8'])
    await current().advance(3_000)
    expect(await liveBeats()).toEqual([])
    await beat('p2', 9)
    expect(await liveBeats()).toEqual(['p2:9'])
  })

  test('a proxy that retires disappears at once and may come back', async () => {
    await config().beat({ proxy: 'p1', epoch: 1, generation: 7 })
    await config().retire('p1')
    await config().retire('never')
    expect(await config().heartbeats(60_000)).toEqual([])
    await config().beat({ proxy: 'p1', epoch: 1, generation: 8 })
    expect(await config().heartbeats(60_000)).toEqual([{ proxy: 'p1', epoch: 1, generation: 8 }])
  })
}

async function followed(config: ConfigStore): Promise<(Change | Gap)[]> {
  const seen: (Change | Gap)[] = []
  await config.follow((change) => void seen.push(change))
  return seen
}

function generationOf(change: Change | Gap): number | 'gap' {
  return 'gap' in change ? 'gap' : change.generation
}
