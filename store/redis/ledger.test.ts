import { expect, test } from 'vitest'
import type { EntryNote } from '../ledger/contract.ts'
import type { RedisConnection } from './connection.ts'
import { createRedisLedger } from './ledger.ts'

const NOTE: EntryNote = {
  reason: 'usage',
  model: 'm',
  channel: 'c',
  key: 'k',
  endpoint: 'chat',
  tier: '',
  price: '',
  tokens: {},
  flags: [],
}

test.each(['', 'MAYBE', null, 7, ['OK'], ['OK', 'soon'], ['DUP', '1', 'X'], ['NOFUNDS', 'account']])(
  'the invalid reply %j is an error',
  async (reply) => {
    const { ledger } = replying(reply)
    const terms = { id: 'r', amount: 1, seen: 0, enforced: true, overdraft: 0, leaseMs: 1, note: NOTE }
    const calls = [
      ledger.topup({ account: 'a', epoch: 1, id: 'c', amount: 1 }),
      ledger.reserve({ account: 'a', ...terms }),
      ledger.renew('a', Array(3).fill({ ...terms, reservedAt: 1 })),
      ledger.settle({ account: 'a', id: 'r', actual: 1, reservedAt: 1, note: NOTE }),
    ]
    for (const result of await Promise.allSettled(calls)) expect(result.status).toBe('rejected')
  },
)

function replying(reply: unknown) {
  const connection: RedisConnection = {
    run: async () => reply,
    command: async () => reply,
    primaries: async () => [],
    onRestored: () => () => {},
    close: async () => {},
  }
  return { ledger: createRedisLedger(connection) }
}

test.each(['', '1', '1-', '1-x', '-1-0', '1-0-0'])(
  'the text %j, which is no entry id, never reaches a script',
  async (id) => {
    const { ledger } = replying(['OK', '1-0'])
    const settle = { account: 'a', id: 'r', actual: 1, reservedAt: 1, note: NOTE }
    if (id !== '') await expect(ledger.settle({ ...settle, postedAs: id })).rejects.toThrow(RangeError)
    await expect(ledger.trim('a', id, 0)).rejects.toThrow(RangeError)
  },
)
