import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { Journal } from '../../controller/books/journal.ts'
import { markOf } from '../../controller/books/mark.ts'
import { restoreAccount } from '../../controller/books/restore.ts'
import { createEmbeddedStore } from '../../store/embedded/index.ts'
import type { EntryNote, Ledger, Settle } from '../../store/ledger/contract.ts'
import { JournalLines } from './lines.ts'

const about = { model: 'm', channel: '', key: 'k', endpoint: 'chat', tier: '', price: '' }
const NOTE: EntryNote = { ...about, reason: 'usage', tokens: {}, flags: [] }
const log = { info() {}, warn() {}, error() {} }
const names = { account: () => 'default/team', key: () => undefined }

function sumsOf(text: string) {
  const lines = new JournalLines()
  for (const one of text.split('\n')) lines.add(one)
  return { bad: lines.bad, sums: lines.sums() }
}

const credit = (entry: string, ref: string, delta: string, more: object = {}) =>
  JSON.stringify({ kind: 'ledger', accountId: 'a', entry, type: 'credit', ref, delta, ...more })
const settle = (entry: string, ref: string, delta: string, more: object = {}) =>
  JSON.stringify({ kind: 'ledger', accountId: 'a', entry, type: 'settle', ref, delta, ...more })

describe('the lines of an account', () => {
  test('count once, in any order, between other lines', () => {
    const lines = [
      '{"kind":"request","endpoint":"ledger"}',
      settle('2-0', 'r1', '-0.25'),
      'text of a log about the "ledger"',
      credit('1-0', 'default/c', '5'),
      settle('2-0', 'r1', '-0.25'),
      '{"kind":"ledger","accountId":"a","entry":"3-',
      JSON.stringify({ kind: 'ledger', accountId: 'a', type: 'opening', credited: '1', spent: '0.5' }),
    ]
    const { bad, sums } = sumsOf(lines.join('\n'))
    expect(sums.get('a')).toMatchObject({ credited: 6_000_000_000, spent: 750_000_000 })
    expect([bad, [...(sums.get('a')?.entries ?? [])]]).toEqual([2, ['2-0', '1-0']])
  })

  test('a corrected line is bad, not another amount', () => {
    const { bad, sums } = sumsOf([credit('1-0', 'c', 'much'), settle('x', 'r', '1')].join('\n'))
    expect([bad, sums.size]).toEqual([2, 0])
  })

  test('an operator’s correction counts, a restore does not, nor what was repeated after it', () => {
    const adjust = { type: 'adjust', ref: 'x', delta: '-2', credited: '1' }
    const lines = [
      settle('1-0', 'r1', '-3'),
      credit('2-0', 'default/c', '5'),
      credit('3-0', '', '0', { ...adjust, reason: 'operator' }),
      credit('4-0', '', '0', { ...adjust, reason: 'restore' }),
      credit('5-0', 'default/c', '5'),
      settle('6-0', 'r1', '-1', { type: 'expire' }),
      settle('7-0', 'r1', '-2', { type: 'late', postedAs: '1-0' }),
    ]
    expect(sumsOf(lines.join('\n')).sums.get('a')).toMatchObject({
      credited: 6_000_000_000,
      spent: 6_000_000_000,
    })
  })
})

/** A ledger on a clock of its own, and the lines of its journal. */
function world(clock: { now: number }) {
  const { ledger } = createEmbeddedStore({ now: () => clock.now })
  let text = ''
  const sink = {
    write: async (lines: string) => {
      text += lines
    },
    close: async () => {},
  }
  const ship = () => new Journal({ ledger, sink, names, keepMs: 60_000, log }).ship('a')
  return { ledger, ship, text: () => text }
}

type Step = { do: 'credit' | 'request'; amount: number }

async function run(ledger: Ledger, clock: { now: number }, steps: readonly Step[]): Promise<Settle[]> {
  await ledger.open({ account: 'a', epoch: 1, create: true })
  const settles: Settle[] = []
  for (const [i, { do: what, amount }] of steps.entries()) {
    clock.now += 1_000
    if (what === 'credit') await ledger.topup({ account: 'a', epoch: 1, id: `default/c${i}`, amount })
    else {
      const terms = { amount: 5, seen: 2, enforced: false, overdraft: 0, leaseMs: 30_000, note: NOTE }
      await ledger.reserve({ account: 'a', id: `r${i}`, ...terms })
      const settle = { account: 'a', id: `r${i}`, actual: amount, reservedAt: clock.now, note: NOTE }
      const reply = await ledger.settle(settle)
      settles.push('entry' in reply ? { ...settle, postedAs: reply.entry } : settle)
    }
  }
  return settles
}

test('the journal agrees with the ledger after a loss, a restore and repeated settles', async () => {
  const steps = fc.array(
    fc.record({ do: fc.constantFrom('credit' as const, 'request' as const), amount: fc.nat(100) }),
    { minLength: 1, maxLength: 30 },
  )
  await fc.assert(
    fc.asyncProperty(steps, fc.nat(30), fc.boolean(), async (history, cut, early) => {
      const first = { now: 1_000_000 }
      const before = world(first)
      const settles = await run(before.ledger, first, history)
      await before.ship()
      const balance = await before.ledger.balance('a')
      if (balance === undefined) throw new Error('no account')
      const credits = history.flatMap((step, i) =>
        step.do === 'credit' ? [[`default/c${i}`, { amount: step.amount }] as const] : [],
      )
      const mark = markOf(balance, Object.fromEntries(credits))

      const clock = { now: 1_000_000 }
      const after = world(clock)
      await run(after.ledger, clock, history.slice(0, cut))
      clock.now = first.now + 5_000
      const repeat = async () => {
        for (const settle of settles) await after.ledger.settle(settle)
      }
      if (early) await repeat()
      await restoreAccount(after.ledger, { account: 'a', epoch: 2, mark })
      if (!early) await repeat()
      await after.ship()

      const { bad, sums } = sumsOf(before.text() + after.text())
      const { credited = 0, posted = 0 } = (await after.ledger.balance('a')) ?? {}
      expect([bad, sums.get('a')]).toMatchObject([0, { credited, spent: credited - posted }])
    }),
    { numRuns: 200 },
  )
})
