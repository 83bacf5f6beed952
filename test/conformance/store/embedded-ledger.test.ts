import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { createEmbedded } from './embedded.ts'
import { ledgerProperty, type Tally } from './ledger-property.ts'

// FC_RUNS raises this; with fewer runs the counts below would prove nothing.
const numRuns = Math.max(300, Number(process.env.FC_RUNS ?? 0))

describe('embedded ledger under random work', () => {
  const tally: Tally = new Map()

  test('answers like the model, and its sums add up', async () => {
    await fc.assert(ledgerProperty(createEmbedded, tally), { numRuns })
  })

  // A property that never produces a reply proves nothing about it.
  test.each([
    'topup OK',
    'topup DUP',
    'topup CONFLICT',
    'topup LIMIT',
    'topup NOACCT',
    'reserve OK',
    'reserve DUP',
    'reserve CONFLICT',
    'reserve NOFUNDS',
    'reserve NOACCT',
    'renew OK',
    'renew NOFUNDS',
    'renew GONE',
    'renew UNKNOWN',
    'settle OK',
    'settle DUP',
    'settle CONFLICT',
    'settle LATE',
    'settle LOST',
    'settle STALE',
    'settle NOACCT',
    'reap some',
  ])('the runs produced "%s" often', (reply) => {
    expect(tally.get(reply) ?? 0).toBeGreaterThan(numRuns / 8)
  })
})
