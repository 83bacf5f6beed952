/**
 * Addresses that the relay does not call unless they are allowed by name or by range. Sources: the IANA registries of
 * special-purpose addresses (RFC 6890) and the cloud vendors' documentation.
 */

import { isIPv6 } from 'node:net'
import { AddressSet, groupsOf } from '../../../contract/address.ts'

interface Line {
  range: string
  why: string
}

/** Private networks: a listed host may have an address in them. */
const PRIVATE: Line[] = [
  { range: '10.0.0.0/8', why: 'private (RFC 1918)' },
  { range: '172.16.0.0/12', why: 'private (RFC 1918)' },
  { range: '192.168.0.0/16', why: 'private (RFC 1918)' },
  { range: '100.64.0.0/10', why: 'behind a provider’s NAT (RFC 6598), and pods of some clouds' },
  { range: '127.0.0.0/8', why: 'this machine' },
  { range: '::1/128', why: 'this machine' },
  { range: 'fc00::/7', why: 'private (RFC 4193)' },
]

/** Metadata services, which give cloud credentials to any caller, inside or outside the private networks. */
const METADATA: Line[] = [
  { range: '169.254.0.0/16', why: 'link-local; 169.254.169.254 and 169.254.170.2 of most clouds' },
  { range: '100.100.100.200', why: 'metadata of Alibaba Cloud' },
  { range: '192.0.0.192', why: 'metadata of Oracle Cloud' },
  { range: '168.63.129.16', why: 'wire server of Azure' },
  { range: 'fd00:ec2::/32', why: 'metadata of AWS, fd00:ec2::254' },
  { range: 'fd20:ce::/48', why: 'metadata of Google Cloud, fd20:ce::254' },
]

const RESERVED: Line[] = [
  { range: '0.0.0.0/8', why: 'this network; systems take 0.0.0.0 for this machine' },
  { range: '192.0.0.0/24', why: 'protocol assignments (RFC 6890)' },
  { range: '192.0.2.0/24', why: 'documentation (RFC 5737)' },
  { range: '192.88.99.0/24', why: '6to4 relays (RFC 7526)' },
  { range: '198.18.0.0/15', why: 'benchmarks (RFC 2544)' },
  { range: '198.51.100.0/24', why: 'documentation (RFC 5737)' },
  { range: '203.0.113.0/24', why: 'documentation (RFC 5737)' },
  { range: '224.0.0.0/4', why: 'multicast' },
  { range: '240.0.0.0/4', why: 'reserved, and 255.255.255.255 is broadcast' },

  // Everything outside 2000::/3, including IPv4 inside IPv6: mapped addresses were unwrapped before.
  {
    range: '::/3',
    why: 'unspecified; IPv4-compatible (::/96), translated (::ffff:0:0:0/96), NAT64 (64:ff9b::/96, 64:ff9b:1::/48); discard (100::/64)',
  },
  { range: '4000::/2', why: 'not assigned; segment routing (5f00::/16)' },
  {
    range: '8000::/1',
    why: 'not assigned; link-local (fe80::/10), site-local (fec0::/10), multicast (ff00::/8)',
  },

  { range: '2001::/23', why: 'protocol assignments (RFC 2928); Teredo (2001::/32) carries an IPv4 address' },
  { range: '2001:db8::/32', why: 'documentation (RFC 3849)' },
  { range: '2002::/16', why: '6to4 carries an IPv4 address' },
  { range: '3fff::/20', why: 'documentation (RFC 9637)' },
]

const setOf = (...tables: Line[][]) => new AddressSet(tables.flat().map(({ range }) => range))
const denied = setOf(PRIVATE, METADATA, RESERVED)
const home = setOf(PRIVATE)
const metadata = setOf(METADATA)

/** Whether an address is one of the public internet. */
export function isPublic(address: string): boolean {
  return !denied.has(address) && !isIsatap(address)
}

/** Carries an IPv4 address behind a prefix of any network (RFC 5214, section 6.1). */
function isIsatap(address: string): boolean {
  if (!isIPv6(address)) return false
  const [, , , , first = '', second] = groupsOf(address)
  return second === '5efe' && /^(?:0|200|100|300)$/.test(first)
}

/** Whether a listed host may have this address even if the address is not listed. */
export function mayBeHost(address: string): boolean {
  return isPublic(address) || (home.has(address) && !metadata.has(address))
}
