/** Addresses under which this machine reaches itself. */
import { networkInterfaces } from 'node:os'
import { AddressSet } from '../../../contract/address.ts'

/** Loopback, and unspecified addresses, which systems take for loopback. */
const ALWAYS = new AddressSet(['0.0.0.0/8', '127.0.0.0/8', '::/127'])

/** `address` is not IPv4-mapped. Interfaces are read at each call: they come and go. */
export function isOwnAddress(address: string): boolean {
  if (ALWAYS.has(address)) return true
  const all = Object.values(networkInterfaces()).flatMap((entries) => entries ?? [])
  return new AddressSet(all.map((entry) => entry.address)).has(address)
}
