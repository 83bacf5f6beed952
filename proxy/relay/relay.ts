/** The parts of the relay that live as long as the process. */
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
  /** Bound of the memory for the bodies of all relayed requests. */
  bodyBytes: number
  /** HTTP proxy with its credentials; absent: none. */
  proxy: string | undefined
}

export interface Relay extends Pick<RelaySettings, 'requireApiKey' | 'connectMs' | 'totalMs'> {
  /** Undefined: the relay is switched off. */
  policy: Pick<AddressPolicy, 'target' | 'isAllowed'> | undefined
  rates: RelayRates
  /** Separate from other requests, so that callers without a key cannot use up the memory of those with one. */
  bodyMemory: BodyMemory
  proxy: HttpProxy | undefined
}

export function createRelay(settings: RelaySettings): Relay {
  const { mode, requireApiKey, connectMs, totalMs, bodyBytes, proxy } = settings
  return {
    policy: mode === 'off' ? undefined : new AddressPolicy({ ...settings, mode }),
    rates: new RelayRates(settings, () => performance.now()),
    bodyMemory: new BodyMemory(bodyBytes),
    requireApiKey,
    connectMs,
    totalMs,
    proxy: proxyAt(proxy),
  }
}
