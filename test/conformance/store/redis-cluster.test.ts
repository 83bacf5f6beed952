import fc from 'fast-check'
import { afterAll, beforeAll, test } from 'vitest'
import { remoteRuns } from '../../harness/property-runs.ts'
import { ledgerProperty } from './ledger-property.ts'
import { clusterUnderTest, type RedisUnderTest } from './redis.ts'
import { storeConformance } from './suite.ts'

// FC_RUNS raises this.
const numRuns = remoteRuns(40)

let redis: RedisUnderTest
beforeAll(async () => {
  redis = await clusterUnderTest()
})
afterAll(() => redis.stop())

storeConformance('store in a Redis Cluster', () => redis.create())

test('the ledger answers any work as the model does, and its sums add up', async () => {
  await fc.assert(
    ledgerProperty(() => redis.create(), new Map()),
    { numRuns },
  )
}, 300_000)
