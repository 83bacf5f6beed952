import { beforeEach, describe, expect, test } from 'vitest'
import { z } from 'zod'
import { createEmbeddedStore } from '../../store/embedded/index.ts'
import type { EntryNote, Ledger } from '../../store/ledger/contract.ts'
import { Journal } from './journal.ts'
import type { JournalSink } from './journal-sink.ts'

const KEEP_MS = 60_000
const NOTE: EntryNote = {
  ...{ model: 'm', channel: 'default/c', key: 'key-id', endpoint: 'chat', tier: '', price: 'abcd1234' },
  ...{ reason: 'usage', tokens: { input: 10, output: 5 }, flags: [] },
}
const names = {
  account: (id: string) => (id === 'a' ? 'default/team' : undefined),
  key: (id: string) => (id === 'key-id' ? 'default/alice' : undefined),
}

let now: number
let ledger: Ledger
let text: string
let broken: boolean
let logged: string[]
let requests = 0

beforeEach(async () => {
  now = 1_700_000_000_000
  text = ''
  broken = false
  logged = []
  ledger = createEmbeddedStore({ now: () => now }).ledger
  await ledger.open({ account: 'a', epoch: 1, create: true })
})

const sink: JournalSink = {
  async write(lines) {
    if (broken) throw new Error('disk full')
    text += lines
  },
  close: async () => {},
}
function journal() {
  const note = (_: object, message: string) => void logged.push(message)
  return new Journal({ ledger, sink, names, keepMs: KEEP_MS, log: { info: note, warn: note, error: note } })
}
const line = z.looseObject({ kind: z.literal('ledger'), entry: z.string(), type: z.string() })
const lines = () =>
  text
    .split('\n')
    .filter((one) => one !== '')
    .map((one) => line.parse(JSON.parse(one)))

const credit = (id: string, amount: number) => ledger.topup({ account: 'a', epoch: 1, id, amount })
async function request(actual: number) {
  const id = `r${requests++}`
  const terms = { amount: 10, seen: 0, enforced: false, overdraft: 0, leaseMs: 30_000 }
  await ledger.reserve({ account: 'a', id, ...terms, note: NOTE })
  await ledger.settle({ account: 'a', id, actual, reservedAt: now, note: NOTE })
  return id
}

describe('the journal', () => {
  test('has every entry once, in order, with names and what the entry says', async () => {
    await credit('default/start', 2_000_000_000)
    const id = await request(1_500_000)
    const own = journal()
    await own.ship('a')
    await own.ship('a')
    const [first, second, ...more] = lines()
    expect(first).toMatchObject({ account: 'default/team', type: 'credit', ref: 'default/start', delta: '2' })
    expect(second).toEqual({
      ...{ kind: 'ledger', account: 'default/team', accountId: 'a', time: '2023-11-14T22:13:20.000Z' },
      ...{ entry: `${now}-1`, type: 'settle', ref: id, delta: '-0.0015', reason: 'usage', model: 'm' },
      ...{ channel: 'default/c', key: 'default/alice', endpoint: 'chat', tier: '', price: 'abcd1234' },
      ...{ tokens: { input: 10, output: 5 }, flags: [] },
    })
    expect(more).toEqual([])
  })

  test('continues at its mark after a restart, and removes old entries behind it alone', async () => {
    await credit('default/start', 10)
    await journal().ship('a')
    await request(1)
    now += KEEP_MS + 1
    await request(2)
    const next = journal()
    await next.ship('a')
    expect(lines().map(({ type }) => type)).toEqual(['credit', 'settle', 'settle'])
    expect((await ledger.entries('a', undefined, 10)).map(({ delta }) => delta)).toEqual([-2])
  })

  test('loses no entry while it cannot be written, and reports how long', async () => {
    await credit('default/start', 10)
    broken = true
    const own = journal()
    await own.ship('a')
    now += KEEP_MS + 1
    for (let i = 0; i < 3; i++) await request(1)
    await own.ship('a')
    expect([text, logged]).toEqual(['', ['cannot write the ledger journal']])
    expect(own.lagSeconds).toBeGreaterThan(0)
    expect(await ledger.entries('a', undefined, 10)).toHaveLength(4)
    broken = false
    await own.ship('a')
    expect(lines()).toHaveLength(4)
    expect([own.lagSeconds, logged.at(-1)]).toEqual([0, 'the ledger journal is written again'])
  })

  test('has thousands of entries whole', async () => {
    for (let i = 0; i < 1_700; i++) await request(1)
    await journal().ship('a')
    const ids = lines().map(({ entry }) => entry)
    expect([ids.length, new Set(ids).size]).toEqual([1_700, 1_700])
  })

  test('begins with the sums of entries that were removed before', async () => {
    await credit('default/start', 1_000_000_000)
    await request(250_000_000)
    now += KEEP_MS + 1
    await ledger.trim('a', undefined, KEEP_MS)
    await request(5)
    await journal().ship('a')
    expect(lines()).toMatchObject([
      { type: 'opening', credited: '1', spent: '0.25' },
      { type: 'settle', delta: '-0.000000005' },
    ])
  })

  test('repeats lines after a crash between the lines and the mark', async () => {
    await credit('default/start', 10)
    const { trim } = ledger
    ledger.trim = () => Promise.reject(new Error('killed'))
    await expect(journal().ship('a')).rejects.toThrow('killed')
    ledger.trim = trim
    await journal().ship('a')
    expect(lines().map(({ entry }) => entry)).toEqual([`${now}-0`, `${now}-0`])
  })

  test('says whether it has an entry', async () => {
    await credit('default/start', 10)
    const own = journal()
    await request(1)
    const [, last] = await ledger.entries('a', undefined, 10)
    expect(await own.ship('a', last?.id)).toBe('written')
    expect(await own.ship('a', last?.id)).toBe('written')
    await request(1)
    expect(await own.ship('a', `${now + 1}-0`)).toBe('missing')
    expect(await own.ship('unknown', last?.id)).toBe('missing')
    await request(1)
    broken = true
    expect(await own.ship('a', `${now}-99`)).toBe('stuck')
    expect(lines()).toHaveLength(3)
  })

  test('writes each line once when it is called twice at the same time', async () => {
    await credit('default/start', 10)
    for (let i = 0; i < 3; i++) await request(1)
    const own = journal()
    await Promise.all([own.ship('a'), own.ship('a'), own.ship('a')])
    expect(lines()).toHaveLength(4)
  })

  test('skips accounts that the ledger does not have', async () => {
    await journal().ship('unknown')
    expect(text).toBe('')
  })
})
