/** The routing table as requests use it: indexed once when it is swapped in, and immutable. */
import { matchesGlob } from '../../contract/glob.ts'
import type { ChannelRecord, PublishedTable, RouteRecord } from '../../contract/table/records.ts'

/**
 * A route that serves a model, with the part that a wildcard matched. A table has one match for each exact model, so what follows
 * from it can be kept with it.
 */
export interface RouteMatch {
  route: RouteRecord
  /** Model to send upstream when a target names none; replaces `*` in one that does. */
  upstreamModel: string
}

interface NamespaceIndex {
  exact: Map<string, RouteMatch>
  /** Longest prefix first. */
  wildcards: { prefix: string; route: RouteRecord }[]
  channels: Record<string, ChannelRecord>
}

export class RoutingTable {
  readonly epoch: number
  readonly generation: number
  readonly #namespaces = new Map<string, NamespaceIndex>()

  constructor(published?: PublishedTable) {
    this.epoch = published?.epoch ?? 0
    this.generation = published?.generation ?? 0
    for (const [name, { routes, channels }] of Object.entries(published?.table.namespaces ?? {})) {
      const index: NamespaceIndex = { exact: new Map(), wildcards: [], channels }
      for (const route of routes) {
        if (route.model.endsWith('*')) index.wildcards.push({ prefix: route.model.slice(0, -1), route })
        else index.exact.set(route.model, { route, upstreamModel: route.model })
      }
      index.wildcards.sort((a, b) => b.prefix.length - a.prefix.length)
      this.#namespaces.set(name, index)
    }
  }

  /** The route of a model: an exact name beats a wildcard, a longer wildcard a shorter one. */
  match(namespace: string, model: string): RouteMatch | undefined {
    const index = this.#namespaces.get(namespace)
    const exact = index?.exact.get(model)
    if (exact !== undefined) return exact
    for (const { prefix, route } of index?.wildcards ?? []) {
      if (model.length > prefix.length && model.startsWith(prefix)) {
        return { route, upstreamModel: model.slice(prefix.length) }
      }
    }
    return undefined
  }

  channel(namespace: string, name: string): ChannelRecord | undefined {
    const channels = this.#namespaces.get(namespace)?.channels
    return channels !== undefined && Object.hasOwn(channels, name) ? channels[name] : undefined
  }

  /**
   * Models that a client may name, each with its route, in the order of the table: first those of exact routes, then those
   * that wildcards list. A listed name that an exact route serves belongs to that route.
   */
  *models(namespace: string): Iterable<{ model: string; route: RouteRecord }> {
    const index = this.#namespaces.get(namespace)
    for (const [model, { route }] of index?.exact ?? []) yield { model, route }
    for (const { route } of index?.wildcards ?? [])
      for (const model of new Set(route.listed))
        if (this.match(namespace, model)?.route === route) yield { model, route }
  }

  /** "namespace/name" and record of every channel. */
  *channels(): Iterable<[string, ChannelRecord]> {
    for (const [namespace, { channels }] of this.#namespaces) {
      for (const [name, channel] of Object.entries(channels)) yield [`${namespace}/${name}`, channel]
    }
  }
}

/** True when a key with these globs may use the model; no globs: every model. */
export function modelAllowed(globs: readonly string[], model: string): boolean {
  return globs.length === 0 || globs.some((glob) => matchesGlob(glob, model))
}
