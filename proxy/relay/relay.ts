/** The relay: what of it lives as long as the process. */

import { type HttpProxy, proxyAt } from '../outbound/proxies.ts'
import { BodyMemory } from '../pipeline/body/memory.ts'
import { AddressPolicy, type AddressRules } from './address/policy.ts'
import { type RateLimits, RelayRates } from './rates.ts'

/** The settings SLUICE_RELAY_*; see docs/environment.md. */
export interface RelaySettings extends Omit<AddressRules, 'mode'>, RateLimits {
  mode: 'off' | AddressRules['mode']
  requireApiKey: boolean
  connectMs: number
  totalMs: number
  /** What the bodies of all relayed requests may take. */
  bodyBytes: number
  /** HTTP proxy with its credentials; absent: none. */
  proxy: string | undefined
}

export interface Relay {
  /** Undefined for a relay that is switched off. */
  policy: Pick<AddressPolicy, 'target' | 'isAllowed'> | undefined
  rates: RelayRates
  /** Apart from that of other requests: strangers shall not take the memory of those who have a key. */
  bodyMemory: BodyMemory
  requireApiKey: boolean
  connectMs: number
  totalMs: number
  proxy: HttpProxy | undefined
}

/** `now`: milliseconds, monotonic. */
export function createRelay(settings: RelaySettings, now: () => number = () => performance.now()): Relay {
  const { mode, requireApiKey, connectMs, totalMs, bodyBytes, proxy } = settings
  return {
    policy: mode === 'off' ? undefined : new AddressPolicy({ ...settings, mode }),
    rates: new RelayRates(settings, now),
    bodyMemory: new BodyMemory(bodyBytes),
    requireApiKey,
    connectMs,
    totalMs,
    proxy: proxyAt(proxy),
  }
}
