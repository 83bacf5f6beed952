import { describe, expect, it } from 'vitest'
import { type Keeping, StoreUnavailable } from '../../store/contract.ts'
import type { Risk } from '../snapshot.ts'
import { RiskWatch, risksOf } from './risks.ts'

const GOOD: Keeping = { evictionPolicy: 'noeviction', persistence: 'aof' }
const kinds = (risks: readonly Risk[] | undefined) => risks?.map(({ kind }) => kind)
const kindsOf = (keeping: Partial<Keeping>) => kinds(risksOf(new Map([['a:1', { ...GOOD, ...keeping }]])))

describe('the risks of a server', () => {
  it.each([
    [{}, []],
    [{ persistence: 'rdb' }, []],
    [{ evictionPolicy: 'allkeys-lru' }, ['evicts_all']],
    [{ evictionPolicy: 'allkeys-lrm' }, ['evicts_all']],
    [{ evictionPolicy: 'a-new-one' }, ['evicts_all']],
    [{ evictionPolicy: 'volatile-ttl' }, ['evicts_volatile']],
    [{ evictionPolicy: undefined }, ['eviction_unknown']],
    [{ persistence: 'none' }, ['not_persistent']],
    [{ persistence: 'unknown' }, ['persistence_unknown']],
    [{ evictionPolicy: 'volatile-lru', persistence: 'none' }, ['not_persistent', 'evicts_volatile']],
  ] satisfies [Partial<Keeping>, string[]][])('%o', (keeping, expected) => {
    expect(kindsOf(keeping)).toEqual(expected)
  })

  it('name the servers and their settings', () => {
    const servers = new Map<string, Keeping>([
      ['b:2', { ...GOOD, evictionPolicy: 'allkeys-lru' }],
      ['c:3', GOOD],
      ['a:1', { ...GOOD, evictionPolicy: 'allkeys-random' }],
    ])
    expect(risksOf(servers)).toEqual([
      {
        kind: 'evicts_all',
        message: expect.stringContaining('maxmemory-policy noeviction'),
        servers: ['a:1: allkeys-random', 'b:2: allkeys-lru'],
      },
    ])
  })
})

describe('a watch', () => {
  type Answer = Map<string, Keeping | undefined>
  function watchOf(first: Answer) {
    let answer: Answer | undefined = first
    let looks = 0
    const changes: unknown[] = []
    const store = {
      keeping: async () => {
        looks++
        if (answer === undefined) throw new StoreUnavailable('away')
        return answer
      },
    }
    const watch = new RiskWatch(store, (risks, before) => changes.push([kinds(before), kinds(risks)]))
    return {
      watch,
      changes,
      looks: () => looks,
      answers: (next: Answer | undefined) => {
        answer = next
      },
    }
  }
  const BAD: Keeping = { ...GOOD, evictionPolicy: 'allkeys-lru' }

  it('looks once for all that wait, and reports only what is new', async () => {
    const { watch, changes, looks, answers } = watchOf(new Map([['a:1', GOOD]]))
    expect(watch.known).toBeUndefined()
    expect(await Promise.all([watch.risks(), watch.risks()])).toEqual([[], []])
    await watch.risks()
    expect(looks()).toBe(1)
    await watch.look()
    expect(changes).toEqual([[[], []]])
    answers(new Map([['a:1', BAD]]))
    await watch.look()
    await watch.look()
    answers(new Map([['a:1', GOOD]]))
    await watch.look()
    expect(changes.slice(1)).toEqual([
      [[], ['evicts_all']],
      [['evicts_all'], []],
    ])
  })

  it('remembers what it knew while the store is away', async () => {
    const { watch, answers } = watchOf(new Map([['a:1', BAD]]))
    await watch.look()
    answers(undefined)
    await expect(watch.look()).rejects.toThrow(StoreUnavailable)
    expect(kinds(watch.known)).toEqual(['evicts_all'])
    expect(kinds(await watch.risks())).toEqual(['evicts_all'])
  })

  it('a first look that fails is repeated by the next', async () => {
    const { watch, answers } = watchOf(new Map([['a:1', BAD]]))
    answers(undefined)
    await expect(watch.risks()).rejects.toThrow(StoreUnavailable)
    answers(new Map([['a:1', BAD]]))
    expect(kinds(await watch.risks())).toEqual(['evicts_all'])
  })

  it('remembers a silent server as long as it is a primary', async () => {
    const { watch, answers } = watchOf(
      new Map([
        ['a:1', BAD],
        ['b:2', GOOD],
      ]),
    )
    await watch.look()
    answers(
      new Map([
        ['a:1', undefined],
        ['b:2', GOOD],
      ]),
    )
    expect(kinds(await watch.look())).toEqual(['evicts_all'])
    answers(new Map([['b:2', GOOD]]))
    expect(kinds(await watch.look())).toEqual([])
  })
})
