/**
 * Cache marks. OpenAI's are `prompt_cache_breakpoint`; clients of other models write the messages API's `cache_control`
 * into parts and tools.
 */

import { oneOf, optional, recordAt, stringAt } from '../../../core/json/checks.ts'
import { type Fields, isRecord } from '../../../core/json/value.ts'
import type { CacheMark, Names } from '../../../core/neutral/types.ts'

const BREAKPOINT = 'prompt_cache_breakpoint'
const CONTROL = 'cache_control'

export const CACHE_FIELDS = [BREAKPOINT, CONTROL]

interface Marked {
  cache?: CacheMark
  names?: Names
}

/** The mark of a part or tool at `at`. */
export function decodeCache(owner: Fields, path: string, at: string): Marked {
  const place = `${path}.${BREAKPOINT}`
  const mark = optional(owner[BREAKPOINT], place, recordAt)
  if (mark === undefined) return controlOf(owner, at)
  optional(mark.mode, `${place}.mode`, stringAt)
  const ttl = optional(mark.ttl, `${place}.ttl`, oneOf(['30m', '12h']))
  return { cache: ttl === undefined ? {} : { ttl } }
}

function controlOf({ [CONTROL]: control }: Fields, at: string): Marked {
  const cache = controlled(control)
  return cache === undefined ? {} : { cache, names: { cacheMark: `${at}.${CONTROL}` } }
}

/** Undefined for a value that is not one of the messages API's marks. */
function controlled(control: unknown): CacheMark | undefined {
  if (!isRecord(control)) return undefined
  const { type, ttl, ...more } = control
  if (type !== 'ephemeral' || Object.keys(more).length > 0) return undefined
  if (ttl === undefined || ttl === null) return {}
  return ttl === '5m' || ttl === '1h' ? { ttl } : undefined
}

/** A `cache_control` that is not a valid mark, or that accompanies a `prompt_cache_breakpoint`. */
export function lostControl(owner: Fields): Fields {
  const control = owner[CONTROL]
  if (control === undefined || control === null) return {}
  const isMark = !isRecord(owner[BREAKPOINT]) && controlled(control) !== undefined
  return isMark ? {} : { [CONTROL]: control }
}
