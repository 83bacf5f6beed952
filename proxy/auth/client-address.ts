/** Finds the address of the client behind trusted proxies. */
import { type AddressSet, isAddress, unmap } from '../../contract/address.ts'
import { trimBlanks } from './header-value.ts'

/**
 * Walks X-Forwarded-For from the right and stops at the first address that is not a trusted proxy. Ignores the header of
 * any other peer. Undefined (unknown, so on no list) when an entry cannot be read, or when all of them are trusted
 * proxies: then no entry is the client.
 */
export function clientAddress(
  peer: string | undefined,
  forwardedFor: string | undefined,
  trusted: AddressSet,
): string | undefined {
  if (peer === undefined) return undefined
  if (!trusted.has(peer)) return unmap(peer)
  if (forwardedFor === undefined) return unmap(peer)
  for (const entry of forwardedFor.split(',').reverse()) {
    const address = parseEntry(trimBlanks(entry))
    if (address === undefined) return undefined
    if (!trusted.has(address)) return address
  }
  return undefined
}

/**
 * An entry is an address, some proxies add a port (`192.0.2.7:4711`, `[2001:db8::7]:4711`). A zone (`fe80::1%eth0`)
 * is meaningful only on the host that wrote it, so such an entry is not a client.
 */
function parseEntry(entry: string): string | undefined {
  const bracketed = /^\[([^\]]+)\](:[0-9]{1,5})?$/.exec(entry)?.[1]
  const withPort = /^([0-9.]+):[0-9]{1,5}$/.exec(entry)?.[1]
  const address = unmap(bracketed ?? withPort ?? entry)
  return isAddress(address) ? address : undefined
}
