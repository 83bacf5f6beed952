/** Cache marks: `cache_control` of blocks and tools. */
import type { TypedField } from '../../../ir/losses.ts'
import type { CacheMark } from '../../../ir/types.ts'
import { optional, recordAt, stringAt } from '../../../json/checks.ts'
import { isRecord } from '../../../json/value.ts'
import type { Json, Keeper } from './keeper.ts'

/** The API takes no more in one request. */
const MAX_MARKS = 4

/** The mark of a block or tool; a kind or a lifetime that is not known is kept as it is. */
export function readCache(owner: Json, path: string, keeper: Keeper): { cache?: CacheMark } {
  const control = optional(owner.cache_control, `${path}.cache_control`, recordAt)
  if (control === undefined) return {}
  stringAt(control.type, `${path}.cache_control.type`)
  const ttl = optional(control.ttl, `${path}.cache_control.ttl`, stringAt)
  if (control.type !== 'ephemeral' || (ttl !== undefined && ttl !== '5m' && ttl !== '1h')) {
    keeper.fields.cache_control = control
    return {}
  }
  keeper.takeInside('cache_control', control, ['type', 'ttl'])
  return { cache: ttl === undefined ? {} : { ttl } }
}

/** The mark as this API writes it; it has two lifetimes, so that those of others become the nearest one. */
export function writeCache({ ttl }: CacheMark, lose: (field: TypedField) => void): Json {
  if (ttl === '30m' || ttl === '12h') lose('cacheMark')
  const own = ttl === '30m' ? '5m' : ttl === '12h' ? '1h' : ttl
  return { type: 'ephemeral', ...(own !== undefined && { ttl: own }) }
}

/**
 * Takes the earliest marks away until no more are left than the API takes: the last ones cover the longest prefix.
 * `body` is a request that was just made; its own objects are changed. True when it had too many.
 */
export function limitMarks({ tools, system, messages }: Json): boolean {
  const marked: Json[] = []
  for (const part of [tools, system, messages]) collect(part, marked)
  for (const block of marked.slice(0, -MAX_MARKS)) delete block.cache_control
  return marked.length > MAX_MARKS
}

function collect(value: unknown, marked: Json[]): void {
  if (Array.isArray(value)) {
    for (const item of value) collect(item, marked)
  } else if (isRecord(value)) {
    collect(value.content, marked)
    if ('cache_control' in value) marked.push(value)
  }
}
