/** What refusals of the ledger mean to the client. */

import type { ReserveReply, Shortfall } from '../../store/ledger/contract.ts'
import { GatewayError } from '../errors.ts'
import { type AppliedBudget, budgetExceeded } from './budgets.ts'

/** The reply to a hold that was taken. Throws GatewayError for any other. */
export function taken(
  reply: Exclude<ReserveReply, { reply: 'LIMITED' | 'NOFUNDS' }>,
): Extract<ReserveReply, { reservedAt: number }> {
  switch (reply.reply) {
    case 'OK':
    case 'DUP':
      return reply
    case 'NOACCT':
      throw unavailable()
    // A finished hold must not pay for another upstream call.
    case 'OVER':
    case 'CONFLICT':
      throw usedTwice()
  }
}

export function shortOf(shortfall: Shortfall, budgets: readonly AppliedBudget[]): GatewayError {
  const { of, reason } = shortfall
  if (of !== 'budget') return insufficientBalance(of, reason)
  const budget = budgets[shortfall.budget]
  if (budget === undefined) throw new TypeError('the ledger names a budget that the request has not')
  return budgetExceeded(budget, reason)
}

export function insufficientBalance(of: 'account' | 'sub', reason: 'empty' | 'hold'): GatewayError {
  const funds = of === 'account' ? 'balance' : 'allowance'
  return new GatewayError(
    'insufficient_balance',
    reason === 'empty'
      ? `The ${funds} of this account is used up.`
      : `The ${funds} of this account does not cover the most that this request may cost; ask for fewer output tokens.`,
  )
}

export function isAway(error: unknown): boolean {
  return error instanceof GatewayError && error.code === 'store_unavailable'
}

function usedTwice(): GatewayError {
  return new GatewayError('internal_error', 'The request id was used twice.')
}

export function unavailable(cause?: unknown): GatewayError {
  return new GatewayError('store_unavailable', 'Balances are not available at the moment.', {
    retryAfterSeconds: 1,
    cause,
  })
}
