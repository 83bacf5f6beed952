import type { ProxyGauges } from './metrics.ts'

/** Gauges of a proxy that does nothing. */
export function testGauges(changes: Partial<ProxyGauges> = {}): ProxyGauges {
  return {
    inFlight: () => 0,
    sockets: () => 0,
    relayed: () => 0,
    bodyMemory: () => ({ requests: 0, relay: 0 }),
    holds: () => 0,
    unsettled: () => 0,
    generation: () => 0,
    tableAgeSeconds: () => 0,
    storeAvailable: () => true,
    ejected: () => [],
    recordKinds: ['table', 'key', 'account'],
    ...changes,
  }
}
