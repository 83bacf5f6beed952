import { afterAll, beforeAll } from 'vitest'
import { type RedisUnderTest, redisUnderTest } from './redis.ts'
import { storeConformance } from './suite.ts'

let redis: RedisUnderTest
beforeAll(async () => {
  redis = await redisUnderTest()
})
afterAll(() => redis.stop())

storeConformance('store in one Redis', () => redis.create())
