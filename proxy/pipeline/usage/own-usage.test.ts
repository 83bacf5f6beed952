import { beforeEach, expect, test } from 'vitest'
import { createEmbeddedStore } from '../../../store/embedded/index.ts'
import type { Ledger } from '../../../store/ledger/contract.ts'
import { countedBy, DAY_MS } from '../../../store/ledger/usage.ts'
import { testAccount, testKey } from '../../auth/testing.ts'
import { testNote } from '../../ledger/testing.ts'
import { ownUsage } from './own-usage.ts'

const NOW = 20_000 * DAY_MS
const ACCOUNT = testAccount()
const ALICE = testKey({ id: 'alice-id', name: 'alice' })

let ledger: Ledger
beforeEach(async () => {
  ledger = createEmbeddedStore({ now: () => NOW }).ledger
  await ledger.open({ account: ACCOUNT.id, epoch: 1, create: true })
  await ledger.topup({ account: ACCOUNT.id, epoch: 1, id: 'default/first', amount: 1_000 })
})

async function request(key: string, cost: number): Promise<void> {
  const id = `${key}-${cost}`
  const note = testNote({ key, model: 'm' })
  const terms = {
    account: ACCOUNT.id,
    id,
    amount: cost,
    seen: 0,
    enforced: true,
    overdraft: 0,
    leaseMs: 1_000,
  }
  await ledger.reserve({ ...terms, note })
  await ledger.settle({ account: ACCOUNT.id, id, actual: cost, reservedAt: NOW, note })
}

async function days(): Promise<object> {
  const today = NOW / DAY_MS
  const answer = await ownUsage(ledger, {
    caller: { hash: '', key: ALICE, account: ACCOUNT },
    span: { from: today, to: today },
    models: [],
    modelOf: (route) => route,
    nowMs: NOW,
  })
  return (answer as { days: object }).days
}

test('what the leader has not counted yet is there, of this key alone', async () => {
  await request('alice-id', 20)
  await request('bob-id', 300)
  const own = (requests: number, cost: string) => [
    expect.objectContaining({ date: '2024-10-04', model: 'm', requests, cost }),
  ]
  expect(await days()).toEqual(own(1, '0.00000002'))
  const entries = await ledger.entries(ACCOUNT.id, undefined, 10)
  const upTo = entries.at(-1)?.id ?? ''
  await ledger.count(ACCOUNT.id, countedBy(entries), { after: undefined, upTo })
  expect(await days()).toEqual(own(1, '0.00000002'))
  await request('alice-id', 50)
  expect(await days()).toEqual(own(2, '0.00000007'))
})
