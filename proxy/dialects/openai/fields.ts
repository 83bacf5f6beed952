/** Fields that chat and responses write in the same way. */
import { createHash } from 'node:crypto'
import type { CacheMark, Extended } from '../core/neutral/types.ts'
import type { Writer } from '../core/writer.ts'
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

/** The mark of a content part; undefined, and a loss, if the upstream takes no marks. */
export function cacheMark(owner: Extended & { cache?: CacheMark }, writer: Writer): Breakpoint | undefined {
  const { cache } = owner
  if (cache === undefined) return undefined
  if (!writer.features.cacheMarks) {
    writer.lose('cacheMark', owner)
    return undefined
  }
  const mode = 'explicit'
  if (cache.ttl === undefined) return { mode }
  const ttl = LIFETIMES[cache.ttl]
  if (ttl !== cache.ttl) writer.addLoss(`${writer.name('cacheMark', owner)}.ttl`)
  return { mode, ttl }
}
