/**
 * Finds the members of a JSON object that is parsed anyway, without reading its strings once more: in a large prompt, that took
 * as long as JSON.parse. A key ends with a quote that is not escaped and has a colon behind it. If there are as many such
 * quotes as keys in the value, they are the keys, in the order of the value.
 */
import { BACKSLASH, CLOSE_OBJECT, COMMA, isSpace, QUOTE } from '../../../../kit/bytes.ts'
import type { Member } from './scanned-body.ts'
import type { Shape } from './shape.ts'
import type { Fields } from './value.ts'

/**
 * The members of `value`, which JSON.parse read from `text`, in the order of the bytes of `body`, its UTF-8. Undefined where a scan
 * must find them: an object has a key twice, a top-level key has escapes or is a number, a string begins with a colon, or
 * the text has very many colons.
 */
export function findMembers(
  text: string,
  value: Fields,
  { shape, body }: { shape: Shape; body: Buffer },
): Member[] | undefined {
  const ends = keyEnds(text, shape.keys)
  if (ends === undefined) return undefined
  const keys = Object.keys(value)
  const starts: number[] = []
  for (const [index, key] of keys.entries()) {
    const start = (ends[shape.before[index] ?? -1] ?? -1) - key.length
    if (text.charCodeAt(start - 1) !== QUOTE || !text.startsWith(key, start)) return undefined
    starts.push(start)
  }
  const offset = text.length === body.length ? (at: number) => at : byteOffsets(text)
  return keys.map((rawKey, index) => {
    const start = starts[index] ?? 0
    const next = starts[index + 1]
    const end = next === undefined ? before(text, text.length, CLOSE_OBJECT) : before(text, next - 1, COMMA)
    return { rawKey, start: offset(valueStart(text, start + rawKey.length)), end: offset(end) }
  })
}

/** Where colons that end no key stand closer than this, a scan is faster than a look at each. */
const CHARACTERS_PER_COLON = 32

/** The quote behind each key, or undefined if it is not certain that there are `count`. */
function keyEnds(text: string, count: number): number[] | undefined {
  const ends: number[] = []
  let others = text.length / CHARACTERS_PER_COLON
  for (let colon = text.indexOf(':'); colon >= 0; colon = text.indexOf(':', colon + 1)) {
    const quote = lastBefore(text, colon)
    if (text.charCodeAt(quote) === QUOTE && !isEscaped(text, quote)) ends.push(quote)
    else if (--others < 0) return undefined
  }
  return ends.length === count ? ends : undefined
}

function isEscaped(text: string, quote: number): boolean {
  let before = quote - 1
  while (text.charCodeAt(before) === BACKSLASH) before--
  // An even run of backslashes escapes itself.
  return (quote - before) % 2 === 0
}

/** Index of the first character of the value whose key ends at `quote`. */
function valueStart(text: string, quote: number): number {
  let at = text.indexOf(':', quote) + 1
  while (isSpace(text.charCodeAt(at))) at++
  return at
}

/** Index after the value that `closing`, the last character before `at`, ends. */
function before(text: string, at: number, closing: typeof COMMA | typeof CLOSE_OBJECT): number {
  const end = lastBefore(text, at)
  if (text.charCodeAt(end) !== closing) throw new TypeError('the text is not the JSON object that was parsed')
  return lastBefore(text, end) + 1
}

/** Index of the last character before `at` that is not white space. */
function lastBefore(text: string, at: number): number {
  let last = at - 1
  while (isSpace(text.charCodeAt(last))) last--
  return last
}

/** Offsets in UTF-8 of indexes in `text`, for indexes in ascending order. */
function byteOffsets(text: string): (index: number) => number {
  let from = 0
  let offset = 0
  return (index) => {
    offset += Buffer.byteLength(text.slice(from, index))
    from = index
    return offset
  }
}
