import type { Store } from '../contract.ts'
import { ephemeralKeyRing, type KeyRing } from '../sealing.ts'
import { createAffinityStore } from './affinity.ts'
import { createConfigStore } from './config.ts'
import { createLedger, type EmbeddedLedger } from './ledger.ts'
import { createStateStore } from './state.ts'

interface EmbeddedStoreOptions {
  /** Milliseconds since the epoch; default Date.now. */
  now?: () => number
  /** Lines that the request log keeps; default 1,000. */
  logCapacity?: number
  /** Default: a random key that lasts as long as the process. */
  sealing?: KeyRing
}

export interface EmbeddedStore extends Store {
  ledger: EmbeddedLedger
}

/** A store in memory, for a single process. Its contents are lost when the process ends. */
export function createEmbeddedStore(options: EmbeddedStoreOptions = {}): EmbeddedStore {
  const { now = Date.now, logCapacity = 1_000, sealing = ephemeralKeyRing() } = options
  const config = createConfigStore(now)
  return {
    config,
    ledger: createLedger(now),
    affinity: createAffinityStore(now),
    state: createStateStore(now, logCapacity),
    sealing,
    onRestored: () => () => {},
    keeping: async () => new Map(),
    async close() {
      config.close()
    },
  }
}
