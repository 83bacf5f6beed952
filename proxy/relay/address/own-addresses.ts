/** Addresses of this machine. */
import { networkInterfaces } from 'node:os'
import { AddressSet } from '../../../contract/address.ts'

/** Loopback, and unspecified addresses, which systems treat as loopback. */
const ALWAYS = new AddressSet(['0.0.0.0/8', '127.0.0.0/8', '::/127'])

/** `address` is not IPv4-mapped. Reads the interfaces at each call, because they change. */
export function isOwnAddress(address: string): boolean {
  if (ALWAYS.has(address)) return true
  const all = Object.values(networkInterfaces()).flatMap((entries) => entries ?? [])
  return new AddressSet(all.map((entry) => entry.address)).has(address)
}
