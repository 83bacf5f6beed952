import type { Ledger, Reaped, ReserveReply } from '../ledger/contract.ts'
import type { Outcome } from '../ledger/draft.ts'
import { type AccountState, apply, emptyAccount } from '../ledger/state.ts'
import { reap, renew, reserve, settle, topup } from '../ledger/transition.ts'

/** Commands never await, so that they are applied one after another. */
export function createLedger(now: () => number): Ledger {
  const accounts = new Map<string, AccountState>()

  function run<Reply>(
    account: string,
    unknown: Reply,
    transition: (state: AccountState) => Outcome<Reply>,
  ): Reply {
    const state = accounts.get(account)
    if (state === undefined) return unknown
    const { reply, effects } = transition(state)
    apply(state, effects)
    return reply
  }

  return {
    async open(account) {
      if (accounts.has(account)) return 'DUP'
      accounts.set(account, emptyAccount(account))
      return 'OK'
    },
    async topup(command) {
      return run(command.account, 'NOACCT', (state) => topup(state, command))
    },
    async reserve(command) {
      const unknown: ReserveReply = { reply: 'NOACCT' }
      return run(command.account, unknown, (state) => reserve(state, command, now()))
    },
    async renew(command) {
      return run(command.account, 'NOACCT', (state) => renew(state, command, now()))
    },
    async settle(command) {
      const { note } = command
      const own = { ...command, note: Object.freeze({ ...note, tokens: Object.freeze({ ...note.tokens }) }) }
      return run(command.account, 'NOACCT', (state) => settle(state, own, now()))
    },
    async reap(account, max) {
      const reaped: Reaped[] = []
      for (const name of account === undefined ? accounts.keys() : [account])
        reaped.push(...run(name, [], (state) => reap(state, max - reaped.length, now())))
      return reaped
    },
    async balance(account) {
      const state = accounts.get(account)
      if (state === undefined) return undefined
      const subs = Object.fromEntries([...state.subs].map(([sub, funds]) => [sub, { ...funds }]))
      return { ...state.funds, subs }
    },
    async entries(account, after, count) {
      return accounts.get(account)?.entries.after(Number(after ?? 0), count) ?? []
    },
  }
}
