/** Resolves names, by the system or by the public DNS. */
import { lookup, Resolver } from 'node:dns/promises'
import { unlessAborted } from '../../../kit/time.ts'

/** Both resolve with the addresses of the answer, not judged and perhaps none; they reject when the look-up fails. */
export interface Lookups {
  /** Like the system: hosts file, search domains, then its name servers. */
  system(name: string, signal: AbortSignal): Promise<string[]>
  /** By the public DNS, for exactly this name. IPv4 addresses come first. */
  dns(name: string, signal: AbortSignal): Promise<string[]>
}

/** For a whole look-up, in milliseconds: the client waits for it. */
const LOOKUP_MS = 4_500
/** For one query to one name server, which gets two. */
const TRY_MS = 1_500
export class NameServers implements Lookups {
  readonly #servers: readonly string[]

  /** `servers`: for public names; empty: the system's. Throws on an entry that is not an address. */
  constructor(servers: readonly string[]) {
    this.#servers = servers
    this.#resolver()
  }

  async system(name: string, signal: AbortSignal): Promise<string[]> {
    const found = await unlessAborted(lookup(name, { all: true }), bounded(signal))
    return found.map(({ address }) => address)
  }

  async dns(name: string, signal: AbortSignal): Promise<string[]> {
    const resolver = this.#resolver()
    try {
      const both = Promise.allSettled([resolver.resolve4(name), resolver.resolve6(name)])
      // Some name servers fail for one family and answer for the other.
      const answers = await unlessAborted(both, bounded(signal))
      return answers.flatMap((answer) => (answer.status === 'fulfilled' ? answer.value : []))
    } finally {
      resolver.cancel()
    }
  }

  /** One for each look-up, so that it can be cancelled alone. */
  #resolver(): Resolver {
    const resolver = new Resolver({ timeout: TRY_MS, tries: 2 })
    if (this.#servers.length > 0) resolver.setServers(this.#servers)
    return resolver
  }
}

const bounded = (signal: AbortSignal) => AbortSignal.any([signal, AbortSignal.timeout(LOOKUP_MS)])
