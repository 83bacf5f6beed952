/** Prices and accounts for the tests of this folder and of those that use it. */
import fc from 'fast-check'
import { type Price, parseDollars } from '../../contract/money.ts'
import type { AccountRecord } from '../../contract/table/records.ts'
import type { EntryNote } from '../../store/ledger/contract.ts'

/** Dollars per million tokens, per request and per image; everything else is free. */
export function testPrice(
  dollars: Partial<Record<Exclude<keyof Price, 'multipliers' | 'perCall' | 'above'>, string>>,
): Price {
  const nanos = (text = '0') => parseDollars(text)
  return {
    input: nanos(dollars.input),
    cachedInput: nanos(dollars.cachedInput ?? dollars.input),
    cacheWrite: nanos(dollars.cacheWrite ?? dollars.input),
    cacheWriteLong: nanos(dollars.cacheWriteLong ?? dollars.input),
    output: nanos(dollars.output),
    perRequest: nanos(dollars.perRequest),
    perImage: nanos(dollars.perImage),
    multipliers: {},
  }
}

const nanos = fc.nat(100_000_000_000)
const factor = fc.nat(10_000_000_000)

/** Any price that a route may have, a cache write that costs more than the prompt among them. */
export const anyPrice: fc.Arbitrary<Price> = fc.record({
  input: nanos,
  cachedInput: nanos,
  cacheWrite: nanos,
  cacheWriteLong: nanos,
  output: nanos,
  perRequest: nanos,
  perImage: nanos,
  multipliers: fc.record({ priority: factor, flex: factor, fast: factor }, { requiredKeys: [] }),
})

/** The note of a charge. */
export function testNote(changes: Partial<EntryNote> = {}): EntryNote {
  return {
    reason: 'usage',
    model: 'm',
    channel: 'c',
    key: 'k',
    endpoint: 'chat',
    tier: '',
    price: '',
    tokens: { input: 1 },
    flags: [],
    ...changes,
  }
}

export function testPayer(changes: Partial<AccountRecord> = {}): AccountRecord {
  return {
    version: 1,
    id: 'payer',
    namespace: 'default',
    name: 'team',
    disabled: false,
    enforced: true,
    overdraft: 0,
    ...changes,
  }
}
