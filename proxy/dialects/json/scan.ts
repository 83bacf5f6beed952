import { GatewayError } from '../../errors.ts'
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

const TAB = 0x09
const LF = 0x0a
const CR = 0x0d
const SPACE = 0x20
const QUOTE = 0x22
const COMMA = 0x2c
const COLON = 0x3a
const OPEN_ARRAY = 0x5b
const BACKSLASH = 0x5c
const CLOSE_ARRAY = 0x5d
const OPEN_OBJECT = 0x7b
const CLOSE_OBJECT = 0x7d

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
  for (let i = 0; i < bytes.length; i++) {
    switch (bytes[i]) {
      case SPACE:
      case LF:
      case CR:
      case TAB:
        continue
      case QUOTE: {
        const close = closingQuote(bytes, i)
        if (depth === 1 && start < 0) rawKey = bytes.toString('utf8', i + 1, close)
        i = close
        break
      }
      case COLON:
        if (++keys > limits.maxKeys) {
          throw new GatewayError('invalid_request', `The body has more than ${limits.maxKeys} object keys.`)
        }
        if (depth === 1 && start < 0) start = skipSpace(bytes, i + 1)
        break
      case OPEN_OBJECT:
      case OPEN_ARRAY:
        if (++values > maxValues) throw tooMany(maxValues)
        if (++depth > limits.maxDepth) {
          throw new GatewayError('invalid_request', `The body nests deeper than ${limits.maxDepth} levels.`)
        }
        break
      case COMMA:
      case CLOSE_OBJECT:
      case CLOSE_ARRAY:
        if (depth === 1 && start >= 0 && rawKey !== undefined) {
          members.push({ rawKey, start, end })
          rawKey = undefined
          start = -1
        }
        if (bytes[i] !== COMMA) depth--
        else if (++values > maxValues) throw tooMany(maxValues)
        break
    }
    end = i + 1
  }
  return members
}

function tooMany(maxValues: number): GatewayError {
  return new GatewayError('invalid_request', `The body has more than ${maxValues} values.`)
}

/** Escaped quotes mostly come in company: this near to one, bytes are faster than a search for the next. */
const NEAR_BYTES = 64

/** Index of the quote that closes the string opened at `open`; the end of the bytes when none does. */
export function closingQuote(bytes: Buffer, open: number): number {
  for (let from = open + 1; ; ) {
    const near = Math.min(bytes.length, from + NEAR_BYTES)
    for (; from < near; from++) {
      if (bytes[from] === BACKSLASH) from++
      else if (bytes[from] === QUOTE) return from
    }
    const quote = bytes.indexOf(QUOTE, from)
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
    const byte = bytes[i]
    if (byte !== SPACE && byte !== LF && byte !== CR && byte !== TAB) break
  }
  return i
}
