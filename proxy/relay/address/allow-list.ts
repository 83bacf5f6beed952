/** The entries of SLUICE_RELAY_ALLOW, by host and by address. */
import { AddressSet } from '../../../contract/address.ts'
import type { AllowEntry } from '../../../contract/relay-target.ts'

export const LOCALHOST = 'localhost'
export const LOOPBACKS = ['127.0.0.1', '::1']

/** Entries for one port, or for any. */
class Group {
  readonly hosts: ReadonlySet<string>
  readonly addresses: AddressSet

  constructor(entries: readonly AllowEntry[]) {
    this.hosts = new Set(entries.flatMap((entry) => ('host' in entry ? [entry.host] : [])))
    this.addresses = new AddressSet(entries.flatMap(addressesOf))
  }
}

function addressesOf(entry: AllowEntry): string[] {
  if ('range' in entry) return [entry.range]
  if ('address' in entry) return [entry.address]
  return entry.host === LOCALHOST ? LOOPBACKS : []
}

const portOf = (entry: AllowEntry) => ('range' in entry ? undefined : entry.port)

export class AllowList {
  readonly #groups: ReadonlyMap<number | undefined, Group>

  constructor(entries: readonly AllowEntry[]) {
    const groups = Map.groupBy(entries, portOf)
    this.#groups = new Map([...groups].map(([port, group]) => [port, new Group(group)]))
  }

  hasHost(hostname: string, port: number): boolean {
    return this.#at(port).some(({ hosts }) => hosts.has(hostname))
  }

  /** `address` is not IPv4-mapped. */
  hasAddress(address: string, port: number): boolean {
    return this.#at(port).some(({ addresses }) => addresses.has(address))
  }

  #at(port: number): Group[] {
    return [this.#groups.get(undefined), this.#groups.get(port)].filter((group) => group !== undefined)
  }
}
