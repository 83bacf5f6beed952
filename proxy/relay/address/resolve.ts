/** From names to addresses, in the operator's world and in the public one. */
import { lookup, Resolver } from 'node:dns/promises'
import { unlessAborted } from '../../../kit/time.ts'

/** Both resolve with the addresses as they were answered, unjudged, perhaps none; they reject when nothing can be said. */
export interface Lookups {
  /** As the system does it: the hosts file, search domains, then its name servers. */
  system(name: string, signal: AbortSignal): Promise<string[]>
  /** The public DNS, of exactly this name. IPv4 addresses come first. */
  dns(name: string, signal: AbortSignal): Promise<string[]>
}

/** For a whole look-up, in milliseconds: clients wait for it before anything else happens. */
const LOOKUP_MS = 4_500
/** For one question to one name server; each is asked twice. */
const TRY_MS = 1_500
export class NameServers implements Lookups {
  readonly #servers: readonly string[]

  /** `servers` are asked about public names; without any the system's are. Throws on one that is no address. */
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
      // Some name servers fail at the one family and answer the other.
      const answers = await unlessAborted(both, bounded(signal))
      return answers.flatMap((answer) => (answer.status === 'fulfilled' ? answer.value : []))
    } finally {
      resolver.cancel()
    }
  }

  /** One for each look-up, so that each can be cancelled by itself. */
  #resolver(): Resolver {
    const resolver = new Resolver({ timeout: TRY_MS, tries: 2 })
    if (this.#servers.length > 0) resolver.setServers(this.#servers)
    return resolver
  }
}

const bounded = (signal: AbortSignal) => AbortSignal.any([signal, AbortSignal.timeout(LOOKUP_MS)])
