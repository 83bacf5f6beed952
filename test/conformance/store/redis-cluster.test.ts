import { afterAll, beforeAll, test } from 'vitest'
import { ledgerRuns, remoteRuns } from '../../harness/property-runs.ts'
import { checkLedger } from './ledger-property.ts'
import { clusterUnderTest, type RedisUnderTest } from './redis.ts'
import { storeConformance } from './suite.ts'

// FC_RUNS raises this.
const { numRuns, timeLimitMs } = ledgerRuns(remoteRuns(60))

let redis: RedisUnderTest
beforeAll(async () => {
  redis = await clusterUnderTest()
})
afterAll(() => redis.stop())

storeConformance('store in a Redis Cluster', () => redis.create())

test(
  'the ledger answers any work as the model does, and its sums add up',
  async () => {
    await checkLedger(() => redis.create(), numRuns)
  },
  timeLimitMs,
)
