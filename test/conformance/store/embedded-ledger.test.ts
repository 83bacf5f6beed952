import { test } from 'vitest'
import { ledgerRuns } from '../../harness/property-runs.ts'
import { createEmbedded } from './embedded.ts'
import { checkLedger } from './ledger-property.ts'

// FC_RUNS raises this; with fewer runs nothing tells whether a reply is too rare.
const { numRuns, timeLimitMs } = ledgerRuns(Math.max(300, Number(process.env.FC_RUNS ?? 0)))

test(
  'the embedded ledger answers any work like the model, and its sums add up',
  async () => {
    await checkLedger(createEmbedded, numRuns)
  },
  timeLimitMs,
)
