/**
 * Keys that JSON.parse may take for others. V8 13.6, of Node 24, compares the characters between the quotes of a key that has an
 * escape with the key that an object of the same shape had here before: having read `{"typ\\":1}`, it reads
 * `{"typ\u0065":1}` as `{"typ\\":1}`. The gateway would not see a field that the upstream sees, and not charge for it.
 */
import type { Shape } from './shape.ts'

/** A digit, letter or underscore, which no client writes as an escape: the names of all fields consist of them. */
const ESCAPED_WORD = /\\u00(?:3\d|4[1-9a-f]|5[\daf]|6[1-9a-f]|7[\da])/i
/** A string, and the colon behind it if it is a key. */
const STRING = /"(?:[^"\\]|\\.)*"(\s*:)?/g

/**
 * True if a key in `text`, at any depth, hides what it says behind escapes, and the parsed value may lack it. Linear, and costs
 * nothing for most: a key that was taken for another has a backslash, and few others have.
 */
export function hasDisguisedKey(text: string, { hasBackslash }: Pick<Shape, 'hasBackslash'>): boolean {
  return (
    hasBackslash &&
    ESCAPED_WORD.test(text) &&
    keysIn(text).some((key) => ESCAPED_WORD.test(withoutBackslashes(key)))
  )
}

/** A key without its escaped backslashes: what follows one is no escape. */
const withoutBackslashes = (key: string) => key.replaceAll('\\\\', '')

function keysIn(text: string): string[] {
  return Array.from(text.matchAll(STRING)).flatMap(([string, colon]) => (colon === undefined ? [] : [string]))
}
