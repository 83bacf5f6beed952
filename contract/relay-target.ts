/** Entries of SLUICE_RELAY_ALLOW: what the relay may call even if it is not public. */
import { isIP, isIPv6 } from 'node:net'
import { isAddressRange } from './address.ts'

/** A `range` allows every address in it; an `address` or a `host` is allowed at `port`, or at any port. Hosts are lower-case. */
export type AllowEntry =
  | { range: string }
  | { address: string; port?: number }
  | { host: string; port?: number }

const LABEL = /^(?!-)[a-z0-9_-]{1,63}(?<!-)$/

/** Undefined for text that is not an entry. An IPv6 address with a port needs brackets. */
export function parseAllowEntry(text: string): AllowEntry | undefined {
  if (text.includes('/')) return isAddressRange(text) ? { range: text } : undefined
  if (isIPv6(text)) return isAddressRange(text) ? { address: text } : undefined
  const [, bracketed, plain, portText] = /^(?:\[([^\]]+)\]|([^[\]:]+))(?::(\d+))?$/.exec(text) ?? []
  const port = portText === undefined ? undefined : Number(portText)
  if (port !== undefined && (port < 1 || port > 65_535)) return undefined
  const at = port === undefined ? {} : { port }
  if (bracketed !== undefined)
    return isIPv6(bracketed) && isAddressRange(bracketed) ? { address: bracketed, ...at } : undefined
  // As in URLs, one trailing dot does not change a name.
  const host = plain?.toLowerCase().replace(/\.$/, '') ?? ''
  if (isIP(host) !== 0) return { address: host, ...at }
  const labels = host.split('.')
  // URLs read a host as an address if its last label is a number.
  const isHost =
    host.length <= 253 && labels.every((label) => LABEL.test(label)) && !/^\d+$|^0x/.test(labels.at(-1) ?? '')
  return isHost ? { host, ...at } : undefined
}
