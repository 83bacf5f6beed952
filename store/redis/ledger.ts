/**
 * The ledger in Redis. Each command is one script over the keys of one account (store/lua/ledger), checked and applied in
 * one step, with the clock of the server. store/ledger/transition.ts specifies what it does.
 */
import { ACCOUNTS, accountKeys } from '../keys.ts'
import type { Ledger, Reaped, Reserve } from '../ledger/contract.ts'
import { ENTRIES_KEPT } from '../ledger/state.ts'
import { integer, KEEP_MS, natural, REAPED_AT_ONCE } from '../ledger/transition.ts'
import type { RedisConnection } from './connection.ts'
import {
  accountIds,
  openReply,
  readBalance,
  readEntries,
  readReaped,
  renewReply,
  reserveReply,
  settleReply,
  topupReply,
} from './ledger-replies.ts'

/** Accounts that are reaped at the same time. */
const REAPED_IN_PARALLEL = 64

export function createRedisLedger(connection: RedisConnection): Ledger {
  function run(
    script: 'topup' | 'reserve' | 'renew' | 'settle' | 'reap',
    account: string,
    args: readonly (string | number)[],
  ): Promise<unknown> {
    const limits = [KEEP_MS, REAPED_AT_ONCE, ENTRIES_KEPT]
    return connection.run(`ledger/${script}`, accountKeys(account), [...limits, ...args])
  }

  async function reapOne(account: string, holds: number, tombstones: number): Promise<Reaped[]> {
    return readReaped(account, await run('reap', account, [holds, tombstones]))
  }

  /** An unreachable account does not delay the others; its error is thrown at the end. */
  async function reapAll(max: number): Promise<Reaped[]> {
    const waiting = accountIds.parse(await connection.command(['SMEMBERS', ACCOUNTS]))
    const reaped: Reaped[] = []
    const errors: unknown[] = []
    while (waiting.length > 0 && reaped.length < max) {
      const rest = max - reaped.length
      const batch = waiting.splice(0, Math.min(REAPED_IN_PARALLEL, rest))
      const share = Math.floor(rest / batch.length)
      const results = await Promise.allSettled(batch.map((account) => reapOne(account, share, max)))
      for (const [i, result] of results.entries()) {
        if (result.status === 'rejected') {
          errors.push(result.reason)
          continue
        }
        reaped.push(...result.value)
        // The account may have more due holds than its share.
        const account = batch[i]
        if (result.value.length === share && account !== undefined) waiting.push(account)
      }
    }
    if (errors.length > 0) throw errors[0]
    return reaped
  }

  return {
    async open(account) {
      // SADD first, so that a reap knows every account.
      await connection.command(['SADD', ACCOUNTS, account])
      const [bal] = accountKeys(account)
      return openReply.parse(await connection.command(['HSETNX', bal, 'p', 0]))
    },
    async topup({ account, id, sub, amount }) {
      return topupReply.parse(await run('topup', account, [id, sub ?? '', integer('amount', amount)]))
    },
    async reserve(command) {
      const reply = await run('reserve', command.account, [
        command.id,
        command.sub ?? '',
        natural('amount', command.amount),
        ...limitsOf(command),
        command.about.key,
        command.about.model,
      ])
      return reserveReply.parse(reply)
    },
    async renew(command) {
      const reply = await run('renew', command.account, [
        command.id,
        natural('seen', command.seen),
        natural('amount', command.amount),
        ...limitsOf(command),
      ])
      return renewReply.parse(reply)
    },
    async settle({ account, id, sub, actual, reservedAt, note }) {
      const reply = await run('settle', account, [
        id,
        sub ?? '',
        natural('actual', actual),
        integer('reservedAt', reservedAt),
        note.reason,
        note.model,
        note.channel,
        note.key,
        JSON.stringify(note.tokens),
      ])
      return settleReply.parse(reply)
    },
    async reap(account, max) {
      natural('max', max)
      return account === undefined ? reapAll(max) : reapOne(account, max, max)
    },
    async balance(account) {
      const [bal] = accountKeys(account)
      return readBalance(await connection.command(['HGETALL', bal]))
    },
    async entries(account, after, count) {
      const led = accountKeys(account)[4]
      const from = after === undefined ? '-' : `(${after}`
      return readEntries(await connection.command(['XRANGE', led, from, '+', 'COUNT', count]))
    },
  }
}

/** The arguments for the limits and the lease of a hold. */
function limitsOf(command: Pick<Reserve, 'enforced' | 'overdraft' | 'subOverdraft' | 'leaseMs'>): number[] {
  return [
    command.enforced ? 1 : 0,
    natural('overdraft', command.overdraft),
    natural('subOverdraft', command.subOverdraft ?? 0),
    natural('leaseMs', command.leaseMs),
  ]
}
