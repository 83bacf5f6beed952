/** What chat and responses write alike, for OpenAI is behind both. */
import { createHash } from 'node:crypto'
import type { CacheMark } from '../core/neutral/types.ts'

const MAX_USER = 128

/** Always the same stand-in for the same user where a name is over the limit, such as the JSON of some agents. */
export function shortUser(user: string): string {
  return user.length <= MAX_USER ? user : createHash('sha256').update(user).digest('hex')
}

/** File data needs a name, which tells its type. */
export function fileName(mediaType: string): string {
  if (mediaType === 'application/pdf') return 'document.pdf'
  return mediaType.startsWith('text/') ? 'document.txt' : 'document'
}

/** Lifetimes of messages' marks become the next longer ones of OpenAI. */
const LIFETIMES = { '5m': '30m', '30m': '30m', '1h': '12h', '12h': '12h' } as const

/** The lifetime that OpenAI has for it. */
export function lifetimeOf(ttl: NonNullable<CacheMark['ttl']>): CacheMark['ttl'] {
  return LIFETIMES[ttl]
}

/** A cache mark as the field of a content part. */
export function cacheBreakpoint({ ttl }: CacheMark): Record<string, unknown> {
  return { prompt_cache_breakpoint: { mode: 'explicit', ...(ttl !== undefined && { ttl: LIFETIMES[ttl] }) } }
}
