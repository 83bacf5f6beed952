/** Compares and merges `price` blocks field by field, and writes them as YAML. */
import { stringify } from 'yaml'
import { present } from '../../kit/present.ts'
import type { PriceBlock } from './convert.ts'
import { decimalOf, decimalText } from './decimal.ts'

/** A field whose price differs; dotted, as in `above.200000.input`. */
export interface Change {
  field: string
  /** Undefined: the route has no such price. */
  from: string | undefined
  to: string
}

/** Each price of a block by its dotted name. Prices of images by size are left out: no list has them. */
export function fieldsOf(block: PriceBlock): Map<string, string> {
  const { perCall = {}, above = [], multipliers = {}, images: _, ...plain } = block
  const fields = new Map<string, string>()
  const add = (prefix: string, prices: object) => {
    for (const [name, price] of Object.entries(prices))
      if (typeof price === 'string') fields.set(prefix + name, shortest(price))
  }
  add('', plain)
  add('perCall.', perCall)
  for (const { tokens, ...prices } of above) add(`above.${tokens}.`, prices)
  add('multipliers.', multipliers)
  return fields
}

/** What would change in `own` if it had the prices of `list`. Prices that only `own` has are no change. */
export function changesOf(own: PriceBlock | undefined, list: PriceBlock): Change[] {
  const before = fieldsOf(own ?? {})
  return [...fieldsOf(list)].flatMap(([field, to]) => {
    const from = before.get(field) ?? defaultOf(field, before)
    return from === to ? [] : [{ field, from, to }]
  })
}

/** The price that the gateway charges where the field is absent. */
function defaultOf(field: string, prices: ReadonlyMap<string, string>): string | undefined {
  const at = field.lastIndexOf('.') + 1
  const of = (name: string) => prices.get(field.slice(0, at) + name)
  const kind = field.slice(at)
  if (kind === 'cachedInput' || kind === 'cacheWrite') return of('input')
  if (kind === 'cacheWriteLong') return of('cacheWrite') ?? of('input')
  return kind === 'reasoning' ? of('output') : undefined
}

/** The prices of `own` that `list` does not have, dotted. */
export function keptOf(own: PriceBlock | undefined, list: PriceBlock): string[] {
  const listed = fieldsOf(list)
  const images = Object.keys(present({ images: own?.images }))
  return [...[...fieldsOf(own ?? {}).keys()].filter((field) => !listed.has(field)), ...images]
}

/** The prices of `list`, and of `own` where `list` has none. */
export function merged(own: PriceBlock | undefined, list: PriceBlock): PriceBlock {
  if (own === undefined) return list
  const rows = new Map((own.above ?? []).map((row) => [row.tokens, row]))
  for (const row of list.above ?? []) rows.set(row.tokens, { ...rows.get(row.tokens), ...row })
  const above = [...rows.values()].toSorted((a, b) => a.tokens - b.tokens)
  return {
    ...own,
    ...list,
    ...((own.perCall ?? list.perCall) && { perCall: { ...own.perCall, ...list.perCall } }),
    ...((own.multipliers ?? list.multipliers) && {
      multipliers: { ...own.multipliers, ...list.multipliers },
    }),
    ...(above.length > 0 && { above }),
  }
}

/** `price:` as it stands in a spec. */
export function yamlOf(price: PriceBlock): string {
  return stringify({ price }).trimEnd()
}

function shortest(price: string): string {
  const value = decimalOf(price)
  return value === undefined ? price : decimalText(value)
}
