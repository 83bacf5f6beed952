/** Usage, counted from entries once, or without a balance. */
import { beforeEach, describe, expect, test } from 'vitest'
import type { EntryNote, Settle, UsageRow, UsageSpan } from '../../../store/ledger/contract.ts'
import { countedBy } from '../../../store/ledger/usage.ts'
import {
  ACCOUNT,
  CHECKPOINT,
  fund,
  hold,
  LEASE_MS,
  NOTE,
  renew,
  reservation,
  SUB,
  settlement,
} from './fixtures.ts'
import type { Current } from './under-test.ts'

const DAY = 86_400_000
const OTHER_PLACE = 'nnnnnnnnnnnnnnnnnnnn'
const PLACE = { key: NOTE.key, model: 'small', channel: 'east', sub: '' }

export function usageCases(current: Current): void {
  const ledger = () => current().store.ledger
  let today = 0
  const usageOf = async (account: string, span: UsageSpan) => {
    const found: UsageRow[] = []
    for await (const page of ledger().usage(account, span)) found.push(...page)
    return found
  }
  const rows = (from = 0, to = from, key?: string) =>
    usageOf(ACCOUNT, { from: today + from, to: today + to, key })
  /** Takes and settles a hold. */
  const request = async (id: string, actual: number, rest: Partial<Settle> = {}) => {
    const sub = rest.sub !== undefined && { sub: rest.sub }
    const at = await hold(ledger(), reservation(id, 10, { enforced: false, ...sub }))
    await ledger().settle(settlement(id, actual, at, rest))
  }
  const noted = (note: Partial<EntryNote>) => ({ note: { ...NOTE, ...note } })
  /** Counts all entries that are new, as a leader does. */
  const count = async () => {
    const { countedTo: after } = (await ledger().balance(ACCOUNT)) ?? {}
    const entries = await ledger().entries(ACCOUNT, after, 1_000)
    const upTo = entries.at(-1)?.id
    return upTo === undefined ? 'OK' : ledger().count(ACCOUNT, countedBy(entries), { after, upTo })
  }

  beforeEach(async () => {
    await fund(ledger(), ACCOUNT, 1_000)
    const [first] = await ledger().entries(ACCOUNT, undefined, 1)
    today = Math.floor(Number(first?.id.split('-')[0]) / DAY)
  })

  test('adds up requests, costs and tokens of a key, a model and a channel', async () => {
    await request('r1', 7)
    await count()
    await request('r2', 5, noted({ tokens: { input: 10, cachedInput: 4 }, upstreamCost: 3 }))
    await count()
    const counts = { requests: 2, cost: 12, input: 13, output: 5, cachedInput: 4, upstreamCost: 3 }
    expect(await rows()).toEqual([{ day: today, ...PLACE, keyName: undefined, counts }])
  })

  test('tells keys, models, channels and sub-accounts apart', async () => {
    await request('r1', 1, noted({ key: 'other' }))
    await request('r2', 2, noted({ model: 'large' }))
    await request('r3', 3, noted({ channel: 'west' }))
    await request('r4', 4, { sub: SUB })
    await count()
    const found = await rows()
    expect(
      found.map(({ key, model, channel, sub, counts }) => [key, model, channel, sub, counts.cost]),
    ).toEqual(
      expect.arrayContaining([
        ['other', 'small', 'east', '', 1],
        [NOTE.key, 'large', 'east', '', 2],
        [NOTE.key, 'small', 'west', '', 3],
        [NOTE.key, 'small', 'east', SUB, 4],
      ]),
    )
    expect(found).toHaveLength(4)
    expect(await rows(0, 0, 'other')).toHaveLength(1)
  })

  test('counts a request that no upstream served as an error without cost', async () => {
    await request('r1', 0, noted({ reason: 'unserved', tokens: {}, channel: '' }))
    await count()
    expect(await rows()).toMatchObject([{ channel: '', counts: { requests: 1, errors: 1 } }])
  })

  test('counts an expired request once, and a late settle corrects its cost', async () => {
    const at = await hold(
      ledger(),
      reservation('r1', 10, { seen: 4, note: { ...CHECKPOINT, channel: 'east' } }),
    )
    await current().advance(LEASE_MS)
    await ledger().reap(ACCOUNT, 10)
    await count()
    expect(await rows()).toMatchObject([{ counts: { requests: 1, cost: 4, input: 3 } }])
    expect(await renew(ledger(), 'r1', { seen: 6, reservedAt: at })).toBe('AGAIN')
    await ledger().settle(settlement('r1', 9, at))
    await count()
    expect((await rows()).map(({ counts }) => counts)).toEqual([{ requests: 1, cost: 9, input: 3 }])
  })

  test('no entry is counted twice', async () => {
    await request('r1', 7)
    const entries = await ledger().entries(ACCOUNT, undefined, 10)
    const mark = { after: undefined, upTo: entries.at(-1)?.id ?? '' }
    const both = [countedBy(entries), countedBy(entries)].map((added) => ledger().count(ACCOUNT, added, mark))
    expect((await Promise.all(both)).sort()).toEqual(['MOVED', 'OK'])
    expect((await ledger().balance(ACCOUNT))?.countedTo).toBe(mark.upTo)
    expect(await rows()).toMatchObject([{ counts: { requests: 1, cost: 7 } }])
  })

  describe('days', () => {
    test('are those of the entries, in UTC', async () => {
      await request('r1', 1)
      const at = Number((await ledger().balance(ACCOUNT))?.lastEntry?.split('-')[0])
      await current().advance((today + 1) * DAY - at)
      await request('r2', 2)
      await count()
      expect((await rows(0, 1)).map(({ day, counts }) => [day - today, counts.cost])).toEqual([
        [0, 1],
        [1, 2],
      ])
      expect(await rows(1)).toHaveLength(1)
    })

    test('of several months are read together', async () => {
      await request('r1', 1)
      await current().advance(40 * DAY)
      await request('r2', 2)
      await count()
      expect((await rows(0, 40)).map(({ day, counts }) => [day - today, counts.cost])).toEqual([
        [0, 1],
        [40, 2],
      ])
      expect(await rows(1, 39)).toEqual([])
    })
  })

  test('requests that no balance pays for are counted today, without an account', async () => {
    const one = { key: 'k', keyName: 'default/free', model: 'small', channel: 'east' }
    const counted = { ...one, counts: { requests: 2, input: 7 } }
    const failed = { ...one, counts: { requests: 1, errors: 1 } }
    const tagged = { tag: { name: 'team', value: 'a' }, counts: { requests: 1 } }
    expect(await ledger().count(OTHER_PLACE, [counted, failed, tagged])).toBe('OK')
    expect(await ledger().count(OTHER_PLACE, [])).toBe('OK')
    const span = { from: today, to: today }
    const counts = { requests: 3, errors: 1, input: 7 }
    expect(await usageOf(OTHER_PLACE, span)).toEqual([{ day: today, ...PLACE, ...one, counts }])
    expect(await ledger().tagUsage(OTHER_PLACE, span)).toEqual([
      { day: today, name: 'team', value: 'a', counts: { requests: 1 } },
    ])
    expect(await ledger().balance(OTHER_PLACE)).toBeUndefined()
  })

  test('tags add up by name and value', async () => {
    await request('r1', 1, noted({ tags: { project: 'blue', team: 'a' } }))
    await request('r2', 2, noted({ tags: { project: 'blue', team: 'b/c:d' } }))
    await count()
    const found = await ledger().tagUsage(ACCOUNT, { from: today, to: today })
    expect(
      found.map(({ name, value, counts }) => [name, value, counts.cost, counts.requests]).sort(),
    ).toEqual([
      ['project', 'blue', 3, 2],
      ['team', 'a', 1, 1],
      ['team', 'b/c:d', 2, 1],
    ])
    const [entry] = (await ledger().entries(ACCOUNT, undefined, 100)).slice(-1)
    expect(entry?.note?.tags).toEqual({ project: 'blue', team: 'b/c:d' })
  })
}
