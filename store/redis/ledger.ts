/**
 * The ledger in Redis. Each command is one script over the keys of one account (store/lua/ledger), checked and applied in
 * one step, with the clock of the server. store/ledger/ specifies what it does.
 */
import { ACCOUNTS, accountKeys, TOUCHED } from '../keys.ts'
import { checkBudgetChanges, checkBudgets, checkPeriods } from '../ledger/budgets.ts'
import type { Budget, Ledger, Renewal, Reserve, Settle, SettleReply } from '../ledger/contract.ts'
import { checkChanges } from '../ledger/credits.ts'
import { compareEntries } from '../ledger/entry-log.ts'
import { checkCorrections, checkMeters, correctionOf, fillOf, roomyAt, runningIds } from '../ledger/meters.ts'
import { integer, natural } from '../ledger/numbers.ts'
import { settleOld } from '../ledger/old-settle.ts'
import type { OldSettle } from '../ledger/settle.ts'
import type { RedisConnection } from './connection.ts'
import {
  adjustReply,
  balanceFields,
  countReply,
  meterField,
  openReply,
  readBalance,
  readEntries,
  readPage,
  readReaped,
  readReserved,
  readSettled,
  readTouched,
  renewReplies,
  topupReply,
} from './ledger-replies.ts'
import { packAdjustment, packNote } from './packed-note.ts'
import { countArgs, readTags, readUsage } from './usage.ts'

type Args = (string | number)[]

/** A trim reads all fields of an account. */
const TRIM_EVERY_MS = 300_000

/** `usageDays`: how long usage is kept. */
export function createRedisLedger(connection: RedisConnection, usageDays = 400): Ledger {
  function onHolds(script: 'reserve' | 'renew' | 'settle' | 'reap', account: string, args: Args) {
    const { bal, rsv, tmb, led, gc, exp } = accountKeys(account)
    const keys = [bal, rsv, ...tmb, led, gc, ...(script === 'reap' ? [exp] : [])]
    return connection.run(`ledger/${script}`, keys, args)
  }

  function onCredits(script: 'open' | 'topup' | 'adjust', account: string, args: Args) {
    const { bal, crd, led } = accountKeys(account)
    return connection.run(`ledger/${script}`, [bal, crd, led], args)
  }

  async function post(command: Settle, proven: boolean): Promise<SettleReply | OldSettle> {
    const { account, id, sub = '', note, postedAs = '' } = command
    const actual = natural('actual', command.actual)
    const reservedAt = integer('reservedAt', command.reservedAt)
    // Texts that are no entry ids throw here, not in the script.
    if (postedAs !== '') compareEntries(postedAs, postedAs)
    const packed = packNote(note, command.postedAs)
    const corrections = checkCorrections(command.corrections)
    const budgets = checkPeriods(command.budgets).map((one) => packBudget({ ...one, most: 0 }))
    const args: Args = [id, sub, actual, reservedAt, packed, postedAs, proven ? 1 : 0, budgets.join(' ')]
    for (const one of corrections) args.push(meterField(one), correctionOf(one), one.most)
    return readSettled(await onHolds('settle', account, args))
  }

  const ledger: Ledger = {
    trimEveryMs: TRIM_EVERY_MS,
    async open({ account, epoch, create, closed = false }) {
      // SADD first, so that a walk finds every account.
      if (create) await connection.command(['SADD', ACCOUNTS, account])
      const args = [natural('epoch', epoch), create ? 1 : 0, closed ? 1 : 0]
      return openReply.parse(await onCredits('open', account, args))
    },
    async topup({ account, epoch, id, sub = '', amount }) {
      const args = [natural('epoch', epoch), id, sub, integer('amount', amount)]
      return topupReply.parse(await onCredits('topup', account, args))
    },
    async adjust({ account, epoch, id, changes, budgets, ifEntries, restoredTo = '', ...words }) {
      if (restoredTo !== '') compareEntries(restoredTo, restoredTo)
      const corrected = checkBudgetChanges(budgets).map(
        ({ id, spent, until, after }) => ` ${id}|${spent}|${until}|${after}`,
      )
      const args: Args = [
        natural('epoch', epoch),
        id,
        ifEntries === undefined ? '' : natural('ifEntries', ifEntries),
        restoredTo,
        corrected.join(''),
      ]
      for (const { sub = '', credited, posted } of checkChanges(changes))
        args.push(sub, credited, posted, packAdjustment(words, credited))
      return adjustReply.parse(await onCredits('adjust', account, args))
    },
    async reserve(command) {
      return readReserved(
        command,
        await onHolds('reserve', command.account, [
          ...termsOf(command),
          packNote(command.note),
          runningOf(command.meters),
          budgetsOf(command),
          ...checkMeters(command.meters).flatMap((meter) => [
            meterField(meter),
            fillOf(meter),
            roomyAt(meter),
            meter.windowMs > 0 ? meter.most : '',
          ]),
        ]),
      )
    },
    async renew(account, renewals) {
      if (renewals.length === 0) return []
      const args = renewals.flatMap((renewal) => [
        ...termsOf(renewal),
        integer('reservedAt', renewal.reservedAt),
        packNote(renewal.note),
        runningOf(renewal.meters),
        budgetsOf(renewal),
      ])
      return renewReplies(renewals.length).parse(await onHolds('renew', account, args))
    },
    async settle(command) {
      const reply = await post(command, false)
      if (reply.reply !== 'OLD') return reply
      return settleOld(
        ledger,
        command,
        reply.setBackMs,
        async () => (await post(command, true)) as SettleReply,
      )
    },
    async reap(account, max) {
      return readReaped(account, await onHolds('reap', account, [natural('max', max)]))
    },
    async balance(account, named = {}) {
      const { bal } = accountKeys(account)
      return readBalance(await connection.command(['HMGET', bal, ...balanceFields(named)]), named)
    },
    async entries(account, after, count) {
      const from = after === undefined ? '-' : `(${after}`
      const { led } = accountKeys(account)
      return readEntries(await connection.command(['XRANGE', led, from, '+', 'COUNT', count]))
    },
    async trim(account, upTo, keepMs) {
      if (upTo !== undefined) compareEntries(upTo, upTo)
      const { bal, led } = accountKeys(account)
      await connection.run('ledger/trim', [bal, led], [upTo ?? '', natural('keepMs', keepMs)])
    },
    async count(account, rows, mark) {
      if (rows.length === 0 && mark === undefined) return 'OK'
      if (mark !== undefined) compareEntries(mark.upTo, mark.after ?? mark.upTo)
      const args = [mark?.after ?? '', mark?.upTo ?? '', usageDays, ...rows.flatMap(countArgs)]
      return countReply.parse(await connection.run('ledger/usage', [accountKeys(account).bal], args))
    },
    usage(account, span) {
      return readUsage(connection, account, span)
    },
    async tagUsage(account, span) {
      return readTags(connection, account, span)
    },
    async touch(accounts) {
      if (accounts.length > 0) await connection.run('ledger/touch', [TOUCHED], accounts)
    },
    async touched(since, count) {
      const range = ['BYSCORE', 'LIMIT', 0, natural('count', count), 'WITHSCORES'] as const
      return readTouched(await connection.command(['ZRANGE', TOUCHED, since, '+inf', ...range]))
    },
    async walk(cursor = '0', count) {
      return readPage(await connection.command(['SSCAN', ACCOUNTS, cursor, 'COUNT', natural('count', count)]))
    },
  }
  return ledger
}

const runningOf = (meters: Reserve['meters']) => runningIds(checkMeters(meters)).join(',')

const budgetsOf = ({ budgets }: Pick<Reserve, 'budgets'>) => checkBudgets(budgets).map(packBudget).join(' ')

/** As in store/lua/ledger/budgets.lua. */
const packBudget = ({ id, most, periods }: Budget) => [id, most, ...periods].join('|')

/** What reserve and renew have in common. */
function termsOf(terms: Omit<Reserve, 'account' | 'note'> | Omit<Renewal, 'note'>): Args {
  return [
    terms.id,
    terms.sub ?? '',
    natural('amount', terms.amount),
    natural('seen', terms.seen),
    terms.enforced ? 1 : 0,
    natural('overdraft', terms.overdraft),
    natural('subOverdraft', terms.subOverdraft ?? 0),
    natural('leaseMs', terms.leaseMs),
  ]
}
