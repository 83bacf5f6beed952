import { describe, expect, test } from 'vitest'
import { TABLE_VERSION } from '../../contract/table/records.ts'
import type { Ledger } from '../ledger/contract.ts'
import { createEmbeddedStore } from './index.ts'

const binding = { channel: 'east', upstreamId: 'u', native: true, contextTokens: 1, root: 'r' }
const nothing = { put: new Map(), remove: [] }

test('the log keeps logCapacity lines', async () => {
  const { state } = createEmbeddedStore({ logCapacity: 3 })
  for (const line of ['a', 'b', 'c', 'd']) await state.appendLog(line)
  expect(await state.recentLog(10)).toEqual(['d', 'c', 'b'])
})

test('the least recently used sessions and responses make room', async () => {
  const { affinity, state } = createEmbeddedStore()
  for (let i = 0; i <= 100_000; i++) {
    await affinity.set(`s${i}`, 'east', 60_000)
    await state.putResponse('o', `resp_${i}`, binding, 60_000)
  }
  expect([await affinity.get('s0'), await affinity.get('s1')]).toEqual([undefined, 'east'])
  expect([await state.response('o', 'resp_0'), await state.response('o', 'resp_1')]).toEqual([
    undefined,
    binding,
  ])
})

test('callers cannot change the records that they get', async () => {
  const { config, ledger, state } = createEmbeddedStore()
  const tokens = { input: 1 }
  const table = { version: TABLE_VERSION, namespaces: { default: { routes: [], channels: {} } } }
  const changes: object[] = []
  await config.follow((change) => void changes.push(change))
  await config.newEpoch()
  await config.publish({ epoch: 1, generation: 1, table, keys: nothing, accounts: nothing })
  await state.putResponse('o', 'resp_1', binding, 60_000)
  await ledger.open({ account: 'a', epoch: 1, create: true })
  const flags = ['usage_clamped']
  const about = { model: 'm', channel: 'c', key: 'k', endpoint: 'chat', tier: '', price: '' }
  const note = { ...about, reason: 'usage' as const, tokens, flags }
  await ledger.settle({ account: 'a', id: 'r', actual: 1, reservedAt: Date.now(), note })
  tokens.input = 2
  flags.push('another')

  const published = await config.table()
  const [entry] = await ledger.entries('a', undefined, 1)
  expect(entry?.note).toMatchObject({ tokens: { input: 1 }, flags: ['usage_clamped'] })
  expect(changes).toHaveLength(1)
  for (const record of [
    published,
    published?.table.namespaces.default?.routes,
    await state.response('o', 'resp_1'),
    entry,
    changes[0],
  ]) {
    expect(record).toBeDefined()
    expect(Object.isFrozen(record)).toBe(true)
  }
  expect(Object.isFrozen(table)).toBe(false)
})

test('close unsubscribes all followers', async () => {
  const store = createEmbeddedStore()
  const seen: string[] = []
  await store.config.newEpoch()
  await store.config.follow(() => void seen.push('first'))
  await store.close()
  await store.config.follow(() => void seen.push('second'))
  await store.config.publish({ epoch: 1, generation: 1, keys: nothing, accounts: nothing })
  await Promise.resolve()
  expect(seen).toEqual(['second'])
})

test('a trim leaves the newest fifty thousand entries of an account, or those that the journal has not written', async () => {
  const { ledger } = createEmbeddedStore({ now: () => 1_000 })
  await ledger.open({ account: 'a', epoch: 1, create: true })
  for (let n = 0; n <= 50_001; n++)
    await ledger.topup({ account: 'a', epoch: 1, id: `default/c${n}`, amount: 1 })
  const kept = async () => {
    const entries = await ledger.entries('a', undefined, 60_000)
    return [entries.length, entries[0]?.id, (await ledger.balance('a'))?.trimmedTo]
  }
  await ledger.trim('a', '1000-1', 60_000)
  expect(await kept()).toEqual([50_001, '1000-1', '1000-1'])
  await ledger.trim('a', undefined, 60_000)
  expect(await kept()).toEqual([50_000, '1000-2', '1000-2'])
})

describe('the memory of entries', () => {
  const about = { model: 'm', channel: 'c', key: 'k', endpoint: 'chat', tier: '', price: '' }
  const note = { ...about, reason: 'usage' as const, tokens: {}, flags: [] }

  /** Entries that a trim leaves an account of 1,200 requests beside these. */
  async function keptBeside(accounts: string[], use: (ledger: Ledger, account: string) => Promise<unknown>) {
    const { ledger } = createEmbeddedStore({ now: () => 1_000 })
    for (const account of [...accounts, 'busy']) await ledger.open({ account, epoch: 1, create: true })
    for (const account of accounts) await use(ledger, account)
    for (let n = 0; n < 1_200; n++)
      await ledger.settle({ account: 'busy', id: `r${n}`, actual: 1, reservedAt: 1_000, note })
    for (const account of [...accounts, 'busy']) await ledger.trim(account, undefined, 60_000)
    expect((await ledger.balance('busy'))?.posted).toBe(-1_200)
    return (await ledger.entries('busy', undefined, 60_000)).length
  }
  const others = Array.from({ length: 200 }, (_, n) => `a${n}`)

  test('is shared by two hundred accounts with requests, and each keeps its newest thousand', async () => {
    const requests = (ledger: Ledger, account: string) =>
      Promise.resolve(ledger.settle({ account, id: 'r', actual: 1, reservedAt: 1_000, note }))
    expect(await keptBeside(others, requests)).toBe(1_000)
  })

  test('is not taken by accounts that only have credits', async () => {
    const credit = (ledger: Ledger, account: string) =>
      ledger.topup({ account, epoch: 1, id: 'default/c', amount: 1 })
    expect(await keptBeside(others, credit)).toBe(1_200)
  })
})

test('a settle of long ago in requests is not charged again, although its mark is gone', async () => {
  let now = 1_000
  const { ledger } = createEmbeddedStore({ now: () => now })
  await ledger.open({ account: 'a', epoch: 1, create: true })
  const about = { model: 'm', channel: 'c', key: 'k', endpoint: 'chat', tier: '', price: '' }
  const note = { ...about, reason: 'usage' as const, tokens: {}, flags: [] }
  const settle = (id: string, reservedAt: number) =>
    ledger.settle({ account: 'a', id, actual: 1, reservedAt, note })
  for (let n = 0; n <= 100_000; n++, now++) await settle(`r${n}`, now)
  expect(await settle('r0', 1_000)).toEqual({ reply: 'DUP', entry: '1000-0' })
  expect(await settle('r60000', 61_000)).toEqual({ reply: 'DUP', entry: '61000-0' })
  await ledger.trim('a', undefined, 7_200_000)
  expect(await settle('r0', 1_000)).toEqual({ reply: 'STALE' })
  expect(await settle('new', now)).toMatchObject({ reply: 'LOST' })
  expect((await ledger.balance('a'))?.posted).toBe(-100_002)
})
