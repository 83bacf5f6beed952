import { expect, test } from 'vitest'
import { StoreUnavailable } from '../contract.ts'
import type { RedisConnection } from './connection.ts'
import { createRedisLedger } from './ledger.ts'

/** A server for accounts with these numbers of due holds; an account with -1 is unreachable. */
function serverOf(due: Map<string, number>) {
  let running = 0
  const log = { most: 0, sent: [] as (string | number)[][] }
  const connection: RedisConnection = {
    async run(script, keys, args) {
      log.sent.push([script, ...args])
      log.most = Math.max(log.most, ++running)
      await Promise.resolve()
      running -= 1
      const account = /\{(.*)\}/.exec(keys[0] ?? '')?.[1] ?? ''
      const left = due.get(account) ?? 0
      if (left < 0) throw new StoreUnavailable('away')
      const reaped = Math.min(left, Number(args[3]))
      due.set(account, left - reaped)
      return Array.from({ length: reaped }, (_, i) => [`r${left - i}`, '1']).flat()
    },
    command: async () => [...due.keys()],
    onRestored: () => () => {},
    close: async () => {},
  }
  return { log, ledger: createRedisLedger(connection) }
}

test('a reap of all accounts expires all due holds up to its limit, a few accounts at a time', async () => {
  const due = new Map(Array.from({ length: 300 }, (_, i) => [`a${i}`, i % 5]))
  const { ledger, log } = serverOf(due)
  expect(await ledger.reap(undefined, 100)).toHaveLength(100)
  expect(await ledger.reap(undefined, 0)).toEqual([])
  expect(await ledger.reap(undefined, 1_000)).toHaveLength(500)
  expect([...due.values()].every((left) => left === 0)).toBe(true)
  expect(log.most).toBeLessThanOrEqual(64)
})

test('one account may use up the whole limit of a reap', async () => {
  const { ledger } = serverOf(
    new Map([...['a', 'b', 'c'].map((id): [string, number] => [id, 0]), ['d', 1_500]]),
  )
  const reaped = await ledger.reap(undefined, 1_000)
  expect(reaped).toHaveLength(1_000)
  expect(new Set(reaped.map(({ id }) => id)).size).toBe(1_000)
})

test('the error of an unreachable account is thrown after all others were reaped', async () => {
  const due = new Map([
    ['a', -1],
    ['b', 3],
  ])
  const { ledger } = serverOf(due)
  await expect(ledger.reap(undefined, 10)).rejects.toThrow(StoreUnavailable)
  expect(due.get('b')).toBe(0)
})

test.each(['', 'MAYBE', null, 7, ['OK'], ['OK', 'soon'], ['DUP', '1', 'X'], ['NOFUNDS', 'account']])(
  'the invalid reply %j is an error',
  async (reply) => {
    const { ledger } = replying(reply)
    const about = { model: 'm', key: 'k' }
    const limits = { enforced: true, overdraft: 0, leaseMs: 1 }
    const note = { reason: 'usage' as const, model: 'm', channel: 'c', key: 'k', tokens: {} }
    const calls = [
      ledger.topup({ account: 'a', id: 'c', amount: 1 }),
      ledger.reserve({ account: 'a', id: 'r', amount: 1, ...limits, about }),
      ledger.renew({ account: 'a', id: 'r', seen: 0, amount: 1, ...limits }),
      ledger.settle({ account: 'a', id: 'r', actual: 1, reservedAt: 1, note }),
    ]
    for (const result of await Promise.allSettled(calls)) expect(result.status).toBe('rejected')
  },
)

function replying(reply: unknown) {
  const connection: RedisConnection = {
    run: async () => reply,
    command: async () => reply,
    onRestored: () => () => {},
    close: async () => {},
  }
  return { ledger: createRedisLedger(connection) }
}
