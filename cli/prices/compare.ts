/** Finds the entries of a price list that are meant for a route, and compares their prices with the route's. */
import { type Change, changesOf, fieldsOf, keptOf } from './block.ts'
import { convert, type PriceBlock } from './convert.ts'
import type { Listed, PriceList } from './price-list.ts'
import type { PricedRoute } from './routes.ts'

/**
 * same: the route has the listed prices. differs: it has others. unpriced: it has none yet. ambiguous: several entries
 * fit, with different prices, and the route has none of them. unknown: no entry with a usable price fits. free: the
 * route costs nothing.
 */
export type Outcome = 'same' | 'differs' | 'unpriced' | 'ambiguous' | 'unknown' | 'free'

/** An entry that fits, and what it would change. */
export interface Offer {
  entry: string
  price: PriceBlock
  changes: Change[]
  /** Prices that only the route has. */
  kept: string[]
  notes: string[]
}

export interface Finding {
  /** namespace/name of the route. */
  route: string
  model: string
  outcome: Outcome
  /** One, unless the outcome is ambiguous, unknown or free. */
  offers: Offer[]
  /** About the route; what concerns an entry is in its offer. */
  notes: string[]
}

export function compare(routes: readonly PricedRoute[], list: PriceList): Finding[] {
  return routes.map((route) => finding(route, list))
}

function finding(route: PricedRoute, list: PriceList): Finding {
  const about = { route: route.id, model: route.model }
  if (route.free) return { ...about, outcome: 'free', offers: [], notes: [] }
  const { entries, notes } = entriesFor(route, list)
  const offers = entries.flatMap((entry) => {
    const { block, notes: own } = convert(entry)
    if (block !== undefined) {
      const { price } = route
      const changes = changesOf(price, block)
      return [{ entry: entry.name, price: block, changes, kept: keptOf(price, block), notes: own }]
    }
    notes.push(...own.map((note) => `${entry.name}: ${note}`), `${entry.name} has no usable price`)
    return []
  })
  const [first] = offers
  if (first === undefined) return { ...about, outcome: 'unknown', offers: [], notes }
  const agreed = offers.find(({ changes }) => changes.length === 0)
  if (agreed !== undefined && route.price !== undefined)
    return { ...about, outcome: 'same', offers: [agreed], notes }
  if (offers.some((other) => pricesOf(other) !== pricesOf(first)))
    return { ...about, outcome: 'ambiguous', offers, notes }
  return { ...about, outcome: route.price === undefined ? 'unpriced' : 'differs', offers: [first], notes }
}

/**
 * The entries named like an upstream model of the route; without one, like the model that clients send; without one,
 * either of them behind the name of a provider.
 */
function entriesFor(
  { model, upstream }: PricedRoute,
  list: PriceList,
): { entries: Listed[]; notes: string[] } {
  const exact = upstream.filter((name) => list.has(name))
  if (exact.length > 0) {
    const missing = upstream.filter((name) => !list.has(name))
    return {
      entries: exact.flatMap((name) => list.get(name) ?? []),
      notes: missing.map((name) => `the list does not have ${name}, which a channel serves`),
    }
  }
  const own = list.get(model)
  if (own !== undefined) return { entries: [own], notes: [] }
  const names = model.includes('*') ? upstream : [...upstream, model]
  const entries = [...list.values()].filter((entry) => names.some((name) => entry.name.endsWith(`/${name}`)))
  if (entries.length > 0) return { entries, notes: [] }
  const sought = [...new Set(names)].join(' or ')
  const why =
    sought === '' ? 'the route serves any model, each with its own price' : `the list does not have ${sought}`
  return { entries, notes: [why] }
}

/** The same text for the same prices. */
function pricesOf({ price }: Offer): string {
  return JSON.stringify([...fieldsOf(price)].toSorted(([a], [b]) => (a < b ? -1 : 1)))
}
