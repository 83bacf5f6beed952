import type { Log } from '../../contract/log.ts'
import type { Store } from '../contract.ts'
import type { KeyRing } from '../sealing.ts'
import { createRedisAffinity } from './affinity.ts'
import { createRedisConfig } from './config.ts'
import { createRedisConnection } from './connection.ts'
import { keepingOf } from './keeping.ts'
import { createRedisLedger } from './ledger.ts'
import { createRedisState } from './state.ts'
import type { TlsOptions } from './tls.ts'

interface RedisStoreOptions {
  /** redis:// or rediss://. Several addresses separated by commas, or one with ?cluster=true, are a Cluster. */
  url: string
  /** Redis for affinity, responses, conversations and the request log; default `url`. */
  stateUrl?: string | undefined
  /** For rediss://; default: the public authorities. */
  tls?: TlsOptions
  sealing: KeyRing
  log: Log
  /** Name of this process, shown by CLIENT LIST. */
  instance: string
  /** Lines that the request log keeps; default 10,000. */
  logCapacity?: number | undefined
  /** Days for which usage is kept; default 400. */
  usageDays?: number | undefined
  /** Time for a command; default 250. Publications, the table and the manifest get more. */
  commandTimeoutMs?: number | undefined
}

/**
 * A store that several processes share. It connects in the background, and again whenever a connection is lost; without
 * a connection, its methods reject with StoreUnavailable. `follow` never rejects: it reports a Gap once Redis is reachable.
 */
export function createRedisStore(options: RedisStoreOptions): Store {
  const { url, stateUrl = url, tls, sealing, log, instance } = options
  const { logCapacity = 10_000, usageDays, commandTimeoutMs } = options
  const connect = (to: string, role: string) =>
    createRedisConnection({ url: to, name: `sluice-${instance}${role}`, log, tls, commandTimeoutMs })
  const main = connect(url, '')
  const state = stateUrl === url ? main : connect(stateUrl, '-state')
  const connections = new Set([main, state])
  const config = createRedisConfig(main, () => connect(url, '-follow'), sealing, log)
  const stored = createRedisState(state, sealing, logCapacity)
  return {
    config,
    ledger: createRedisLedger(main, usageDays),
    affinity: createRedisAffinity(state),
    state: stored,
    sealing,
    onRestored(listener) {
      const ends = [...connections].map((connection) => connection.onRestored(listener))
      return () => {
        for (const end of ends) end()
      }
    },
    keeping: () => keepingOf(main),
    async close() {
      await Promise.all([config.close(), stored.flush()])
      await Promise.all([...connections].map((connection) => connection.close()))
    },
  }
}
