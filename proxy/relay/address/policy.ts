/**
 * Decides where the relay may call. It parses a caller's URL once, resolves its name once and checks every address. The
 * connection uses these addresses alone, so that no name server can change its answer between check and call.
 */
import { AddressSet, isAddress, unmap } from '../../../contract/address.ts'
import type { AllowEntry } from '../../../contract/relay-target.ts'
import { GatewayError } from '../../errors.ts'
import type { CheckedTarget } from '../../outbound/checked.ts'
import { AllowList, LOCALHOST, LOOPBACKS } from './allow-list.ts'
import { isPublic, mayBeHost } from './denied.ts'
import { isPublicName } from './names.ts'
import { isOwnAddress } from './own-addresses.ts'
import { type Lookups, NameServers } from './resolve.ts'
import { type Destination, readUrl } from './url.ts'

/** The settings SLUICE_RELAY_*, and the ports that the gateway itself listens on. */
export interface AddressRules {
  /** `allowlist`: only entries of `allow`; `public`: every public address, too. */
  mode: 'allowlist' | 'public'
  allow: readonly AllowEntry[]
  /** Addresses and ranges that are always refused. */
  deny: readonly string[]
  /** For destinations that `allow` does not list; empty: any. */
  ports: ReadonlySet<number>
  /** Name servers for public names; empty: the system's. */
  resolvers: readonly string[]
  ownPorts: () => ReadonlySet<number>
}

/** A connection never tries as many addresses. */
const MAX_ADDRESSES = 16

export class AddressPolicy {
  readonly #rules: AddressRules
  readonly #allow: AllowList
  readonly #deny: AddressSet
  readonly #lookups: Lookups

  /** Throws RangeError or TypeError if `deny` or `resolvers` contain anything but addresses. */
  constructor(rules: AddressRules, lookups: Lookups = new NameServers(rules.resolvers)) {
    this.#rules = rules
    this.#allow = new AllowList(rules.allow)
    this.#deny = new AddressSet(rules.deny)
    this.#lookups = lookups
  }

  /**
   * Throws invalid_request for an invalid URL. Every other refusal is address_refused with one message, for a forbidden
   * address, an unknown name and an aborted `signal` alike, so that callers cannot probe internal names.
   */
  async target(text: string, signal: AbortSignal): Promise<CheckedTarget> {
    const destination = readUrl(text)
    const { url, hostname, port } = destination
    const isListed = this.#allow.hasHost(hostname, port)
    const answers = await this.#answers(destination, isListed, signal)
    const addresses = [...new Set(answers.map(unmap))]
    const isGood = (address: string) => this.#isGood(address, port, isListed)
    // One bad address refuses the name: a public name with internal addresses is an attack or a mistake.
    if (port === 0 || addresses.length === 0 || !addresses.every(isGood)) throw refused()
    return { url, hostname, port, addresses: addresses.slice(0, MAX_ADDRESSES) }
  }

  /** Whether the remote address of a connected socket is one of the checked addresses. */
  isAllowed(address: string, { addresses }: Pick<CheckedTarget, 'addresses'>): boolean {
    const plain = unmap(address)
    return isAddress(plain) && new AddressSet(addresses).has(plain)
  }

  async #answers(
    { hostname, isLiteral }: Destination,
    isListed: boolean,
    signal: AbortSignal,
  ): Promise<readonly string[]> {
    if (isLiteral) return [hostname]
    if (isListed && hostname === LOCALHOST) return LOOPBACKS
    if (!isListed && !isPublicName(hostname)) throw refused()
    try {
      return await this.#lookups[isListed ? 'system' : 'dns'](hostname, signal)
    } catch {
      throw refused()
    }
  }

  #isGood(address: string, port: number, isListed: boolean): boolean {
    if (!isAddress(address) || this.#deny.has(address)) return false
    if (this.#rules.ownPorts().has(port) && isOwnAddress(address)) return false
    if (this.#allow.hasAddress(address, port)) return true
    if (isListed) return mayBeHost(address)
    const { mode, ports } = this.#rules
    return mode === 'public' && (ports.size === 0 || ports.has(port)) && isPublic(address)
  }
}

function refused(): GatewayError {
  return new GatewayError(
    'address_refused',
    'The destination is not allowed or does not resolve; SLUICE_RELAY_ALLOW names exceptions.',
    { param: 'url' },
  )
}
