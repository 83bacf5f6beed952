import { BACKSLASH, QUOTE as QUOTE_BYTE } from '../../../../kit/bytes.ts'
import { GatewayError } from '../../../errors.ts'
import type { JsonLimits } from '../dialect.ts'

/** A top-level key of a JSON object, and where its value stands in the bytes. */
export interface Member {
  /** What stands between the quotes, escapes as written. */
  rawKey: string
  /** First byte of the value. */
  start: number
  /** The byte after the value. */
  end: number
}

/** What a byte means outside of strings; a table, because bodies of megabytes are walked byte by byte. */
export const OTHER = 0
export const SPACE = 1
export const QUOTE = 2
export const COLON = 3
export const OPEN = 4
export const CLOSE = 5
export const COMMA = 6
export const KIND = Uint8Array.from({ length: 256 }, (_, byte) => {
  const char = String.fromCharCode(byte)
  if (' \t\n\r'.includes(char)) return SPACE
  if ('[{'.includes(char)) return OPEN
  if (']}'.includes(char)) return CLOSE
  if (char === '"') return QUOTE
  if (char === ':') return COLON
  return char === ',' ? COMMA : OTHER
})

/**
 * Walks the bytes of a JSON object once: bounds its nesting, keys and values, and finds the top-level members. The
 * grammar is left to JSON.parse: of bytes that it would refuse, the members mean nothing.
 * Throws GatewayError invalid_request past a limit, nothing else on any bytes.
 */
export function scanObject(bytes: Buffer, limits: JsonLimits): Member[] {
  const members: Member[] = []
  const maxValues = limits.maxValues ?? Infinity
  let depth = 0
  let keys = 0
  // Behind each opening and each comma one stands; an empty list counts as if it had one.
  let values = 0
  let rawKey: string | undefined
  let start = -1
  let end = 0
  const { length } = bytes
  for (let i = 0; i < length; i++) {
    const kind = KIND[bytes[i] as number] as number
    if (kind === SPACE) continue
    const behind = end
    end = i + 1
    if (kind === OTHER) continue
    if (kind === QUOTE) {
      const close = closingQuote(bytes, i)
      if (depth === 1 && start < 0) rawKey = bytes.toString('utf8', i + 1, close)
      i = close
      end = i + 1
    } else if (kind === COLON) {
      if (++keys > limits.maxKeys) throw tooManyKeys(limits.maxKeys)
      if (depth === 1 && start < 0) start = skipSpace(bytes, i + 1)
    } else if (kind === OPEN) {
      if (++values > maxValues) throw tooManyValues(maxValues)
      if (++depth > limits.maxDepth) throw tooDeep(limits.maxDepth)
    } else if (kind === COMMA || kind === CLOSE) {
      if (depth === 1 && start >= 0 && rawKey !== undefined) {
        members.push({ rawKey, start, end: behind })
        rawKey = undefined
        start = -1
      }
      if (kind === CLOSE) depth--
      else if (++values > maxValues) throw tooManyValues(maxValues)
    }
  }
  return members
}

export function tooManyValues(most: number): GatewayError {
  return new GatewayError('invalid_request', `The body has more than ${most} values.`)
}

export function tooManyKeys(most: number): GatewayError {
  return new GatewayError('invalid_request', `The body has more than ${most} object keys.`)
}

export function tooDeep(most: number): GatewayError {
  return new GatewayError('invalid_request', `The body nests deeper than ${most} levels.`)
}

/** Escaped quotes mostly come in company: this near to one, bytes are faster than a search for the next. */
export const NEAR_BYTES = 64

/** Index of the quote that closes the string opened at `open`; the end of the bytes when none does. */
export function closingQuote(bytes: Buffer, open: number): number {
  for (let from = open + 1; ; ) {
    const near = Math.min(bytes.length, from + NEAR_BYTES)
    for (; from < near; from++) {
      if (bytes[from] === BACKSLASH) from++
      else if (bytes[from] === QUOTE_BYTE) return from
    }
    const quote = bytes.indexOf(QUOTE_BYTE, from)
    if (quote < 0) return bytes.length
    let before = quote - 1
    while (before >= from && bytes[before] === BACKSLASH) before--
    // An even run of backslashes before a quote escapes itself, not the quote.
    if ((quote - before) % 2 === 1) return quote
    from = quote + 1
  }
}

function skipSpace(bytes: Buffer, from: number): number {
  let i = from
  for (; i < bytes.length; i++) {
    if (KIND[bytes[i] ?? 0] !== SPACE) break
  }
  return i
}
