/** IP addresses and ranges as resources and headers write them. Parsing is strict: nothing is guessed. */
import { BlockList, isIP, isIPv4, isIPv6 } from 'node:net'

/** True for an IPv4 or IPv6 address without a zone and not IPv4-mapped: what CEL's isIP accepts. */
export function isAddress(text: string): boolean {
  return isIP(text) !== 0 && !text.includes('%') && unmap(text) === text
}

/** True for an address or a CIDR range. */
export function isAddressRange(text: string): boolean {
  return isAddress(text) || isRange(text)
}

function isRange(text: string): boolean {
  const [address = '', bits = '', ...rest] = text.split('/')
  if (rest.length > 0 || !isAddress(address) || !/^(0|[1-9][0-9]{0,2})$/.test(bits)) return false
  return Number(bits) <= (isIPv4(address) ? 32 : 128)
}

/**
 * The IPv4 address inside an IPv4-mapped one (`::ffff:a.b.c.d`), or the text unchanged. Sockets of dual-stack
 * listeners report that form.
 */
export function unmap(text: string): string {
  const mapped = /^::ffff:([0-9.]+)$/i.exec(text)?.[1]
  if (mapped !== undefined && isIPv4(mapped)) return mapped
  if (!/ffff:/i.test(text) || !isIPv6(text) || text.includes('%')) return text
  // The URL parser writes every spelling of an address ("0:0:0:0:0:ffff:102:304") in the shortest one.
  const hex = /^\[::ffff:([0-9a-f]{1,4}):([0-9a-f]{1,4})\]$/.exec(new URL(`http://[${text}]`).hostname)
  if (hex === null) return text
  const [high, low] = [Number.parseInt(hex[1] ?? '', 16), Number.parseInt(hex[2] ?? '', 16)]
  return `${high >> 8}.${high & 255}.${low >> 8}.${low & 255}`
}

/** The network that counts as one client: an IPv4 address itself, or the /64 of an IPv6 address. */
export function networkOf(address: string): string {
  const plain = unmap(address)
  if (!isIPv6(plain) || plain.includes('%')) return plain
  return `${groupsOf(plain).slice(0, 4).join(':')}::/64`
}

/** The eight groups of an IPv6 address without zone, in lower case and without leading zeros. */
export function groupsOf(address: string): string[] {
  const [before = '', after] = new URL(`http://[${address}]`).hostname.slice(1, -1).split('::')
  const head = before === '' ? [] : before.split(':')
  const tail = after === undefined || after === '' ? [] : after.split(':')
  const zeros = Array.from({ length: 8 - head.length - tail.length }, () => '0')
  return [...head, ...zeros, ...tail]
}

/** A set of addresses and ranges. */
export class AddressSet {
  /** One list per family: a shared one would match IPv4 addresses against IPv6 ranges that hold ::ffff:0:0/96, such as ::/0. */
  readonly #lists = { ipv4: new BlockList(), ipv6: new BlockList() }
  readonly #isEmpty: boolean

  /** Throws RangeError on an entry that is neither an address nor a range. */
  constructor(entries: readonly string[]) {
    this.#isEmpty = entries.length === 0
    for (const entry of entries) {
      if (!isAddressRange(entry)) throw new RangeError('not an address or a CIDR range')
      const [address = '', bits] = entry.split('/')
      const family = isIPv4(address) ? 'ipv4' : 'ipv6'
      if (bits === undefined) this.#lists[family].addAddress(address, family)
      else this.#lists[family].addSubnet(address, Number(bits), family)
    }
  }

  /** False for text that is not an address. */
  has(address: string): boolean {
    // Most sets are empty, and a look-up in an empty BlockList takes as long as in any other.
    if (this.#isEmpty) return false
    const plain = unmap(address)
    const family = isIPv4(plain) ? 'ipv4' : 'ipv6'
    return isIP(plain) !== 0 && this.#lists[family].check(plain, family)
  }
}
