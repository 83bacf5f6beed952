/** Removes trailing characters that are in `characters`, in linear time: `/[...]+$/` is quadratic. */
export function withoutEnd(text: string, characters: string): string {
  let end = text.length
  while (end > 0 && characters.includes(text.charAt(end - 1))) end--
  return text.slice(0, end)
}

/** The value of a JSON text; undefined for any other text. */
export function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** CJK, Hangul, full-width forms; emoji beyond U+FFFF have four bytes anyway. */
const WIDE_FROM = 0x2e80
const SURROGATES = { from: 0xd800, to: 0xdfff }

/**
 * UTF-8 bytes of a text for estimates, where four bytes are about a token: each character from U+2E80 on is about a token of
 * its own and counts as four.
 */
export function textWeight(text: string): number {
  const bytes = Buffer.byteLength(text)
  if (bytes === text.length) return bytes
  let wide = 0
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i)
    if (code >= WIDE_FROM && (code < SURROGATES.from || code > SURROGATES.to)) wide++
  }
  return bytes + wide
}
