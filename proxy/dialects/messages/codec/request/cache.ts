/** Cache marks: `cache_control` of blocks and tools. */

import { optional, recordAt, stringAt } from '../../../core/json/checks.ts'
import { type Fields, isRecord } from '../../../core/json/value.ts'
import { inside } from '../../../core/neutral/keep.ts'
import type { CacheMark, Extended, Names } from '../../../core/neutral/types.ts'
import type { Writer } from './writer.ts'

/** The API takes no more in one request. */
const MAX_MARKS = 4
/** Where most marks stand. */
const USUAL_PLACE = 'messages.content'

interface Read {
  mark: { cache?: CacheMark; names?: Names }
  /** A kind or a lifetime that is not known, and fields that are not. */
  lost: Fields
}

/** The mark of a block or tool. */
export function readCache(owner: Fields, path: string, at: string = USUAL_PLACE): Read {
  const control = optional(owner.cache_control, `${path}.cache_control`, recordAt)
  if (control === undefined) return { mark: {}, lost: {} }
  stringAt(control.type, `${path}.cache_control.type`)
  const ttl = optional(control.ttl, `${path}.cache_control.ttl`, stringAt)
  if (control.type !== 'ephemeral' || (ttl !== undefined && ttl !== '5m' && ttl !== '1h')) {
    return { mark: {}, lost: { cache_control: control } }
  }
  const names = at === USUAL_PLACE ? {} : { names: { cacheMark: `${at}.cache_control` } }
  const lost = inside('cache_control', control, ['type', 'ttl'])
  return { mark: { cache: ttl === undefined ? {} : { ttl }, ...names }, lost }
}

/** The mark as this API writes it; it has two lifetimes, so that those of others become the nearest one. */
export function writeCache({ ttl }: CacheMark, owner: Extended, writer: Writer): Fields {
  const name = writer.name('cacheMark', owner)
  if (ttl === '30m' || ttl === '12h') writer.tell(`${name}.ttl`)
  const own = ttl === '30m' ? '5m' : ttl === '12h' ? '1h' : ttl
  const mark = { type: 'ephemeral', ...(own !== undefined && { ttl: own }) }
  writer.marks.set(mark, name)
  return mark
}

/**
 * Takes the earliest marks away until no more are left than the API takes: the last ones cover the longest prefix.
 * `body` is a request that was just made; its own objects are changed.
 */
export function limitMarks({ tools, system, messages }: Fields, writer: Writer): void {
  const marked: Fields[] = []
  for (const part of [tools, system, messages]) collect(part, marked)
  for (const block of marked.slice(0, -MAX_MARKS)) {
    writer.tell(writer.marks.get(block.cache_control) ?? writer.name('cacheMark'))
    delete block.cache_control
  }
}

function collect(value: unknown, marked: Fields[]): void {
  if (Array.isArray(value)) {
    for (const item of value) collect(item, marked)
  } else if (isRecord(value)) {
    collect(value.content, marked)
    if ('cache_control' in value) marked.push(value)
  }
}
