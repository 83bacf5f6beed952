/** How the store may lose balances, by what its servers report about themselves. */
import { isDeepStrictEqual } from 'node:util'
import type { Keeping, Store } from '../../store/contract.ts'
import { RISKS, type Risk, type RiskKind } from '../snapshot.ts'

/** What the servers with this fault may lose, and what to do. */
const MESSAGES: Record<RiskKind, string> = {
  evicts_all: 'Redis may evict balances: set maxmemory-policy noeviction',
  evicts_volatile:
    'Redis may evict what expires, such as the marks that keep a repeated settle from being charged twice: set maxmemory-policy noeviction',
  eviction_unknown: 'Redis does not report its maxmemory-policy, which must be noeviction',
  not_persistent:
    'Redis loses all balances when it ends, because it saves nothing to disk: set appendonly yes',
  persistence_unknown:
    'Redis has no append-only file, and does not report whether it saves snapshots: set appendonly yes',
}

/** Looks at the servers of a store, and remembers what it found. */
export class RiskWatch {
  readonly #store: Pick<Store, 'keeping'>
  readonly #onChange: (risks: readonly Risk[], before: readonly Risk[]) => void
  #servers: ReadonlyMap<string, Keeping> = new Map()
  #known: readonly Risk[] | undefined
  #looking: Promise<readonly Risk[]> | undefined

  /** `onChange` is called after the first look, and after each that finds something else. */
  constructor(
    store: Pick<Store, 'keeping'>,
    onChange: (risks: readonly Risk[], before: readonly Risk[]) => void,
  ) {
    this.#store = store
    this.#onChange = onChange
  }

  /** As found by the last look; undefined before the first. */
  get known(): readonly Risk[] | undefined {
    return this.#known
  }

  /** As found by the last look, or else by one now. Rejects with StoreUnavailable. */
  async risks(): Promise<readonly Risk[]> {
    return this.#known ?? (await this.look())
  }

  /** Looks again, once at a time. Rejects with StoreUnavailable; then what is known stays. */
  look(): Promise<readonly Risk[]> {
    this.#looking ??= this.#look().finally(() => {
      this.#looking = undefined
    })
    return this.#looking
  }

  async #look(): Promise<readonly Risk[]> {
    const found = await this.#store.keeping()
    const servers = new Map<string, Keeping>()
    for (const [server, answer] of found) {
      // A server that is silent for a moment keeps its settings.
      const keeping = answer ?? this.#servers.get(server)
      if (keeping !== undefined) servers.set(server, keeping)
    }
    this.#servers = servers
    const before = this.#known
    const risks = risksOf(servers)
    this.#known = risks
    if (before === undefined || !isDeepStrictEqual(before, risks)) this.#onChange(risks, before ?? [])
    return risks
  }
}

/** The worst first; at most one of each kind. */
export function risksOf(servers: ReadonlyMap<string, Keeping>): Risk[] {
  const faults = [...servers].flatMap(([server, keeping]) =>
    faultsOf(keeping).map((fault) => ({ server, ...fault })),
  )
  return RISKS.flatMap((kind): Risk[] => {
    const here = faults.filter((fault) => fault.kind === kind)
    if (here.length === 0) return []
    const servers = here.map(({ server, setting }) =>
      setting === undefined ? server : `${server}: ${setting}`,
    )
    return [{ kind, message: MESSAGES[kind], servers: servers.sort() }]
  })
}

function faultsOf({
  evictionPolicy,
  persistence,
}: Keeping): { kind: RiskKind; setting?: string | undefined }[] {
  const eviction = evictionOf(evictionPolicy)
  return [
    ...(eviction === undefined ? [] : [{ kind: eviction, setting: evictionPolicy }]),
    ...(persistence === 'none' ? [{ kind: 'not_persistent' as const }] : []),
    ...(persistence === 'unknown' ? [{ kind: 'persistence_unknown' as const }] : []),
  ]
}

/** A policy that is not known may evict anything. */
function evictionOf(policy: string | undefined): RiskKind | undefined {
  if (policy === undefined) return 'eviction_unknown'
  if (policy === 'noeviction') return undefined
  return policy.startsWith('volatile-') ? 'evicts_volatile' : 'evicts_all'
}
