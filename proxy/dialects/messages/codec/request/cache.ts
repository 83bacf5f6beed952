/** Cache marks: `cache_control` of blocks and tools. */

import { optional, recordAt, stringAt } from '../../../core/json/checks.ts'
import { type Fields, isRecord } from '../../../core/json/value.ts'
import { inside } from '../../../core/neutral/keep.ts'
import type { CacheMark, Extended, Names } from '../../../core/neutral/types.ts'
import type * as wire from '../../wire.ts'
import type { Writer } from './writer.ts'

/** The API's limit for one request. */
const MAX_MARKS = 4
/** The position of most marks. */
const USUAL_PLACE = 'messages.content'

type Marked = Extended & { cache?: CacheMark }

interface Read {
  mark: { cache?: CacheMark; names?: Names }
  /** A mark with an unknown type or lifetime, or the unknown fields of a mark. */
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

/** The mark of a part or tool in this API, which has two lifetimes: others become the nearest one. */
export function writeCache(owner: Marked, writer: Writer): wire.CacheControl | undefined {
  if (owner.cache === undefined) return undefined
  if (!writer.features.cacheMarks) {
    writer.lose('cacheMark', owner)
    return undefined
  }
  const { ttl } = owner.cache
  const name = writer.name('cacheMark', owner)
  if (ttl === '30m' || ttl === '12h') writer.addLoss(`${name}.ttl`)
  const own = ttl === '30m' ? '5m' : ttl === '12h' ? '1h' : ttl
  const mark: wire.CacheControl = { type: 'ephemeral', ttl: own }
  writer.marks.set(mark, name)
  return mark
}

/**
 * Removes the earliest marks above the API's limit; the last ones cover the longest prefix. Changes `body`, a request
 * that was just encoded.
 */
export function limitMarks({ tools, system, messages }: wire.Request, writer: Writer): void {
  const marked: Fields[] = []
  for (const part of [tools, system, messages]) collect(part, marked)
  for (const block of marked.slice(0, -MAX_MARKS)) {
    writer.addLoss(writer.marks.get(block.cache_control) ?? writer.name('cacheMark'))
    delete block.cache_control
  }
}

function collect(value: unknown, marked: Fields[]): void {
  if (Array.isArray(value)) {
    for (const item of value) collect(item, marked)
  } else if (isRecord(value)) {
    collect(value.content, marked)
    if (value.cache_control !== undefined) marked.push(value)
  }
}
