import { expect, test } from 'vitest'
import { TABLE_VERSION } from '../../contract/table/records.ts'
import { ENTRIES_KEPT } from '../ledger/state.ts'
import { createEmbeddedStore } from './index.ts'

const binding = { channel: 'east', upstreamId: 'u', native: true, contextTokens: 1, root: 'r' }
const nothing = { put: new Map(), remove: [] }

test('the log keeps logCapacity lines', async () => {
  const { state } = createEmbeddedStore({ logCapacity: 3 })
  for (const line of ['a', 'b', 'c', 'd']) await state.appendLog(line)
  expect(await state.recentLog(10)).toEqual(['d', 'c', 'b'])
})

test('an account keeps its newest entries and its whole balance', async () => {
  const { ledger } = createEmbeddedStore()
  await ledger.open('a')
  for (let i = 0; i < ENTRIES_KEPT + 5; i++)
    await ledger.topup({ account: 'a', id: `default/c${i}`, amount: 1 })
  const entries = await ledger.entries('a', undefined, ENTRIES_KEPT * 2)
  expect([entries.length, entries[0]?.ref]).toEqual([ENTRIES_KEPT, 'default/c5'])
  expect((await ledger.balance('a'))?.posted).toBe(ENTRIES_KEPT + 5)
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
  await ledger.open('a')
  const note = { reason: 'usage' as const, model: 'm', channel: 'c', key: 'k', tokens }
  await ledger.settle({ account: 'a', id: 'r', actual: 1, reservedAt: Date.now(), note })
  tokens.input = 2

  const published = await config.table()
  const [entry] = await ledger.entries('a', undefined, 1)
  expect(entry?.note?.tokens).toEqual({ input: 1 })
  expect(changes).toHaveLength(1)
  for (const record of [
    published,
    published?.table.namespaces.default?.routes,
    await state.response('o', 'resp_1'),
    entry,
    entry?.note?.tokens,
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
