/** Fields that chat and responses write in the same way. */
import { createHash } from 'node:crypto'
import type { CacheMark } from '../core/neutral/types.ts'
import type { Breakpoint } from './wire.ts'

const MAX_USER = 128

/** Replaces a name that is too long (some agents send JSON) with its hash, so the same user keeps the same name. */
export function shortUser(user: string): string {
  return user.length <= MAX_USER ? user : createHash('sha256').update(user).digest('hex')
}

/** File data requires a name, which determines its type. */
export function fileName(mediaType: string): string {
  if (mediaType === 'application/pdf') return 'document.pdf'
  return mediaType.startsWith('text/') ? 'document.txt' : 'document'
}

/** Lifetimes of messages' cache marks, and the next longer ones of OpenAI. */
const LIFETIMES = { '5m': '30m', '30m': '30m', '1h': '12h', '12h': '12h' } as const

export function lifetimeOf(ttl: NonNullable<CacheMark['ttl']>): '30m' | '12h' {
  return LIFETIMES[ttl]
}

/** A cache mark as the field of a content part. */
export function cacheBreakpoint({ ttl }: CacheMark): { prompt_cache_breakpoint: Breakpoint } {
  const mode = 'explicit'
  return { prompt_cache_breakpoint: ttl === undefined ? { mode } : { mode, ttl: LIFETIMES[ttl] } }
}
