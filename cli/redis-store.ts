/** The store that controllers and proxies of a cluster share. */
import { type Environment, EnvironmentError } from '../contract/env.ts'
import type { Log } from '../contract/log.ts'
import type { Store } from '../store/contract.ts'
import { createRedisStore } from '../store/redis/index.ts'
import { readKeyRing, SealingKeysError } from '../store/sealing.ts'

/** Connects in the background. Throws EnvironmentError for settings that are missing or cannot be used. */
export function openRedisStore(env: Environment, instance: string, log: Log): Store {
  const { SLUICE_REDIS_URL: url, SLUICE_STATE_REDIS_URL: stateUrl, SLUICE_SEALING_KEYS_FILE: path } = env
  const missing = [
    ...(url === undefined ? ['SLUICE_REDIS_URL: must name the Redis that controller and proxies share'] : []),
    ...(path === undefined
      ? ['SLUICE_SEALING_KEYS_FILE: must name the file of the keys that seal what is stored there']
      : []),
  ]
  if (url === undefined || path === undefined)
    throw new EnvironmentError(`${missing.join('\n')}\nSee docs/redis.md.`)
  try {
    const sealing = readKeyRing(path, log)
    return createRedisStore({ url, ...(stateUrl === undefined ? {} : { stateUrl }), sealing, log, instance })
  } catch (error) {
    if (!(error instanceof SealingKeysError)) throw error
    throw new EnvironmentError(`SLUICE_SEALING_KEYS_FILE: ${error.message}; see docs/redis.md`)
  }
}
