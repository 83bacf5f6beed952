/** A limit on output tokens for clients that set none, so that an answer cannot cost what the account does not have. */
import type { Nanos, Price } from '../../../contract/money.ts'
import type { RouteRecord } from '../../../contract/table/records.ts'
import type { RequestHead } from '../../dialects/core/request.ts'
import { DEFAULT_OUTPUT_TOKENS, holdAmount } from '../../ledger/estimate.ts'

/** For a route that names no context window. */
const CONTEXT_TOKENS = 128_000
const MILLION = 1_000_000

/** Output tokens that one answer may have; `requested` is the caller's own limit. */
export function outputTokensHeld(route: RouteRecord, requested: number | undefined): number {
  return requested ?? route.maxOutputTokens ?? DEFAULT_OUTPUT_TOKENS
}

/**
 * Tokens to which the upstream must limit each answer; undefined: no limit, because the client set one, the account can
 * pay for any answer, or the route wants none. `free`: funds that are left beside the hold.
 */
export function addedOutputLimit(
  route: RouteRecord,
  { maxOutputTokens, images, choices, tier }: RequestHead,
  free: Nanos | undefined,
): number | undefined {
  const { price, outputLimit = 'Funds', contextLength = CONTEXT_TOKENS } = route
  if (maxOutputTokens !== undefined || images !== undefined || price === undefined) return undefined
  const held = outputTokensHeld(route, undefined)
  if (outputLimit === 'Held') return held
  const perMillion = outputPrice(price, tier)
  if (outputLimit === 'None' || free === undefined || perMillion <= 0) return undefined
  const more = (Math.max(0, free) / perMillion) * (MILLION / choices)
  const bought = held + Math.floor(more)
  return bought < contextLength ? bought : undefined
}

/** The most that a million output tokens cost. */
function outputPrice(price: Price, tier: string | undefined): Nanos {
  const of = (outputTokens: number) => holdAmount(price, { inputTokens: 0, outputTokens, tier })
  return of(MILLION) - of(0)
}
