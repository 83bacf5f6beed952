/** Fields that dialects of the OpenAI family have in common. */
import { createHash } from 'node:crypto'
import { present } from '../../../kit/present.ts'
import { type Fields, isText } from '../core/json/value.ts'
import type { CacheMark, Extended, Making } from '../core/neutral/types.ts'
import type { Writer } from '../core/writer.ts'
import type { Breakpoint } from './wire.ts'

const MAX_USER = 128

/** Replaces a name that is too long (some agents send JSON) with its hash, so the same user keeps the same name. */
export function shortUser(user: string): string {
  return user.length <= MAX_USER ? user : createHash('sha256').update(user).digest('hex')
}

/** How the model made an image. `entry`: of the image; `shared`: the answer, item or event that contains it. */
export function readMaking(entry: Fields, shared: Fields): Making {
  const read = (value: unknown) => (isText(value) ? value : undefined)
  return present({
    revisedPrompt: read(entry.revised_prompt),
    size: read(shared.size),
    quality: read(shared.quality),
    background: read(shared.background),
    format: read(shared.output_format),
  })
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
