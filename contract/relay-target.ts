/** Where the relay may call although it is not public, as SLUICE_RELAY_ALLOW writes it. */
import { isIP, isIPv6 } from 'node:net'
import { isAddressRange } from './address.ts'

/** `range`: every address in it. `address`, `host`: that one, at `port` or at any. Hosts are in lower case. */
export type AllowEntry =
  | { range: string }
  | { address: string; port?: number }
  | { host: string; port?: number }

const LABEL = /^(?!-)[a-z0-9_-]{1,63}(?<!-)$/

/** Undefined for what is none. An IPv6 address with a port stands in brackets. */
export function parseAllowEntry(text: string): AllowEntry | undefined {
  if (text.includes('/')) return isAddressRange(text) ? { range: text } : undefined
  if (isIPv6(text)) return isAddressRange(text) ? { address: text } : undefined
  const [, bracketed, plain, portText] = /^(?:\[([^\]]+)\]|([^[\]:]+))(?::(\d+))?$/.exec(text) ?? []
  const port = portText === undefined ? undefined : Number(portText)
  if (port !== undefined && (port < 1 || port > 65_535)) return undefined
  const at = port === undefined ? {} : { port }
  if (bracketed !== undefined)
    return isIPv6(bracketed) && isAddressRange(bracketed) ? { address: bracketed, ...at } : undefined
  // As in URLs one dot behind a name means the same.
  const host = plain?.toLowerCase().replace(/\.$/, '') ?? ''
  if (isIP(host) !== 0) return { address: host, ...at }
  const labels = host.split('.')
  // A last label of digits would be read as an address by URLs.
  const isHost =
    host.length <= 253 && labels.every((label) => LABEL.test(label)) && !/^\d+$|^0x/.test(labels.at(-1) ?? '')
  return isHost ? { host, ...at } : undefined
}
