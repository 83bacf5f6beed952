/**
 * Keys that JSON.parse may take for others. V8 13.6, of Node 24, compares the characters between the quotes of a key that has an
 * escape with the key that an object of the same shape had here before: having read `{"typ\\":1}`, it reads
 * `{"typ\u0065":1}` as `{"typ\\":1}`. The gateway would not see a field that the upstream sees, and not charge for it.
 */

/** A digit, letter or underscore, which no client writes as an escape: the names of all fields consist of them. */
const ESCAPED_WORD = /\\u00(?:3\d|4[1-9a-f]|5[\daf]|6[1-9a-f]|7[\da])/i
/** A string, and the colon behind it if it is a key. */
const STRING = /"(?:[^"\\]|\\.)*"(\s*:)?/g

/**
 * True if a key in `text`, at any depth, hides what it says behind escapes, and `value`, the parsed text, may lack it. Linear, and
 * costs a look at each key: a key that was taken for another has a backslash, and few others have.
 */
export function hasDisguisedKey(text: string, value: object): boolean {
  return (
    hasKeyWithBackslash(value) &&
    ESCAPED_WORD.test(text) &&
    keysIn(text).some((key) => ESCAPED_WORD.test(withoutBackslashes(key)))
  )
}

/** The limit on the depth of bodies bounds the recursion. */
function hasKeyWithBackslash(value: object): boolean {
  if (Array.isArray(value)) return value.some((item) => isObject(item) && hasKeyWithBackslash(item))
  // Not Object.entries, which makes a list for each member.
  for (const key in value) {
    const member: unknown = value[key as keyof typeof value]
    if (key.includes('\\') || (isObject(member) && hasKeyWithBackslash(member))) return true
  }
  return false
}

const isObject = (value: unknown): value is object => typeof value === 'object' && value !== null

/** A key without its escaped backslashes: what follows one is no escape. */
const withoutBackslashes = (key: string) => key.replaceAll('\\\\', '')

function keysIn(text: string): string[] {
  return Array.from(text.matchAll(STRING)).flatMap(([string, colon]) => (colon === undefined ? [] : [string]))
}
