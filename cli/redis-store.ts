/** Opens the store that controllers and proxies of a cluster share. */
import { type Environment, EnvironmentError } from '../contract/env.ts'
import type { Log } from '../contract/log.ts'
import type { Store } from '../store/contract.ts'
import { createRedisStore } from '../store/redis/index.ts'
import { readTlsFiles, TlsFilesError, type TlsOptions } from '../store/redis/tls.ts'
import { readKeyRing, SealingKeysError } from '../store/sealing.ts'

/** Connects in the background. Throws EnvironmentError for settings that are missing or cannot be used. */
export function openRedisStore(
  env: Environment,
  instance: string,
  log: Log,
  commandTimeoutMs: number = env.SLUICE_REDIS_TIMEOUT,
): Store {
  const { SLUICE_REDIS_URL: url, SLUICE_STATE_REDIS_URL: stateUrl, SLUICE_SEALING_KEYS_FILE: path } = env
  const missing = [
    ...(url === undefined ? ['SLUICE_REDIS_URL: must name the Redis that controller and proxies share'] : []),
    ...(path === undefined
      ? ['SLUICE_SEALING_KEYS_FILE: must name the file with the keys that seal the data in Redis']
      : []),
  ]
  if (url === undefined || path === undefined)
    throw new EnvironmentError(`${missing.join('\n')}\nSee docs/redis.md.`)
  const tls = tlsOf(env, log)
  try {
    const sealing = readKeyRing(path, log)
    const usageDays = env.SLUICE_USAGE_DAYS
    return createRedisStore({ url, stateUrl, tls, sealing, log, instance, usageDays, commandTimeoutMs })
  } catch (error) {
    if (!(error instanceof SealingKeysError)) throw error
    throw new EnvironmentError(`SLUICE_SEALING_KEYS_FILE: ${error.message}; see docs/redis.md`)
  }
}

const FILE_SETTINGS = {
  ca: 'SLUICE_REDIS_CA_FILE',
  cert: 'SLUICE_REDIS_CERT_FILE',
  key: 'SLUICE_REDIS_KEY_FILE',
} as const

/** Throws EnvironmentError for files that cannot be used, and for files when no address uses TLS. */
function tlsOf(env: Environment, log: Log): TlsOptions {
  const { ca, cert, key } = FILE_SETTINGS
  const addresses = `${env.SLUICE_REDIS_URL},${env.SLUICE_STATE_REDIS_URL}`
  const given = Object.values(FILE_SETTINGS).find((name) => env[name] !== undefined)
  if (given !== undefined && !addresses.includes('rediss://'))
    throw new EnvironmentError(`${given}: needs an address that begins with rediss://`)
  try {
    return readTlsFiles({ ca: env[ca], cert: env[cert], key: env[key] }, log)
  } catch (error) {
    if (!(error instanceof TlsFilesError)) throw error
    throw new EnvironmentError(`${FILE_SETTINGS[error.file]}: ${error.message}`)
  }
}
