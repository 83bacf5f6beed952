/** Scans the bytes of JSON once, whole or as they arrive, without parsing them. */
import { BACKSLASH, OPEN_OBJECT, QUOTE as QUOTE_BYTE } from '../../../../kit/bytes.ts'
import type { JsonLimits } from '../request.ts'
import { notAnObject, tooDeep, tooManyKeys, tooManyValues } from './limits.ts'
import type { Member } from './scanned-body.ts'

/** A value one level below the outermost object or list. Offsets count from the first byte pushed. */
export interface Entry {
  /** The text between the quotes of its key; both -1 in a list. */
  keyStart: number
  keyEnd: number
  /** First byte of the value, and the byte after it. */
  start: number
  end: number
}

/**
 * The meaning of a byte outside strings. A table, because bodies of megabytes are scanned byte by byte. A value begins
 * with a byte below CLOSE.
 */
const OTHER = 0
const SPACE = 1
const QUOTE = 2
const COLON = 3
const OPEN = 4
const CLOSE = 5
const COMMA = 6
const KIND = Uint8Array.from({ length: 256 }, (_, byte) => {
  const char = String.fromCharCode(byte)
  if (' \t\n\r'.includes(char)) return SPACE
  if ('[{'.includes(char)) return OPEN
  if (']}'.includes(char)) return CLOSE
  if (char === '"') return QUOTE
  if (char === ':') return COLON
  return char === ',' ? COMMA : OTHER
})

const NO_LIMITS: JsonLimits = { maxDepth: Infinity, maxKeys: Infinity }

/** No value is expected; a value begins at the next byte that is not white space. */
const NONE = -1
const NEXT = -2

interface ScanOptions {
  /** Default: none. */
  limits?: JsonLimits | undefined
  /** Refuse anything but an object. */
  onlyObjects?: boolean
  each?: (entry: Entry) => void
}

/**
 * Bounds the nesting, keys and values of JSON and finds the entries of the outermost object or list. It does not check
 * the grammar: the entries of bytes that JSON.parse refuses mean nothing.
 */
export class JsonScanner {
  readonly #limits: JsonLimits
  readonly #each: ((entry: Entry) => void) | undefined
  #mustOpen: boolean
  /** Number of bytes in earlier chunks. */
  #before = 0
  #inString = false
  /** The last chunk ended in a backslash that escapes the next byte. */
  #escaped = false
  #depth = 0
  #keys = 0
  /** One for each opening bracket and each comma: an empty list counts as one value. */
  #values = 0
  #isList = false
  #isKey = false
  #keyStart = NONE
  #keyEnd = NONE
  #start = NONE
  /** Offset after the last byte that was not white space. */
  #end = 0

  constructor({ limits = NO_LIMITS, onlyObjects = false, each }: ScanOptions = {}) {
    this.#limits = limits
    this.#mustOpen = onlyObjects
    this.#each = each
  }

  /** Brackets and commas so far: at least the number of values. */
  get values(): number {
    return this.#values
  }

  /** Takes the next bytes. Throws GatewayError invalid_request past a limit, nothing else on any bytes. */
  push(bytes: Buffer): void {
    const { maxDepth, maxKeys, maxValues = Infinity } = this.#limits
    const { length } = bytes
    const base = this.#before
    let depth = this.#depth
    let keys = this.#keys
    let values = this.#values
    let end = this.#end
    let i = 0
    if (this.#inString) {
      i = this.#skipString(bytes, 0)
      end = base + i
    }
    for (; i < length; i++) {
      const kind = KIND[bytes[i] as number] as number
      if (kind === SPACE) continue
      if (this.#mustOpen) this.#open(bytes[i])
      const behind = end
      end = base + i + 1
      if (depth === 1 && this.#start === NEXT && kind < CLOSE) this.#start = base + i
      if (kind === OTHER) continue
      if (kind === QUOTE) {
        this.#isKey = depth === 1 && this.#start === NONE
        if (this.#isKey) this.#keyStart = base + i + 1
        const after = this.#skipString(bytes, i + 1)
        end = base + after
        i = after - 1
      } else if (kind === COLON) {
        if (++keys > maxKeys) throw tooManyKeys(maxKeys)
        if (depth === 1 && this.#start === NONE) this.#start = NEXT
      } else if (kind === OPEN) {
        if (++values > maxValues) throw tooManyValues(maxValues)
        if (++depth > maxDepth) throw tooDeep(maxDepth)
        if (depth === 1) this.#isList = bytes[i] !== OPEN_OBJECT
        if (depth === 1 && this.#isList) this.#start = NEXT
      } else {
        if (depth === 1) this.#endEntry(behind, kind)
        if (kind === CLOSE) depth--
        else if (++values > maxValues) throw tooManyValues(maxValues)
      }
    }
    this.#depth = depth
    this.#keys = keys
    this.#values = values
    this.#end = end
    this.#before = base + length
  }

  #open(byte: number | undefined): void {
    if (byte !== OPEN_OBJECT) throw notAnObject()
    this.#mustOpen = false
  }

  #endEntry(end: number, kind: number): void {
    const keyStart = this.#keyStart
    const keyEnd = this.#keyEnd
    const start = this.#start
    this.#keyStart = NONE
    this.#keyEnd = NONE
    this.#start = kind === COMMA && this.#isList ? NEXT : NONE
    if (start >= 0 && (this.#isList || keyEnd >= 0)) this.#each?.({ keyStart, keyEnd, start, end })
  }

  /** Index after the quote that ends the string; the end of the bytes when the string continues. */
  #skipString(bytes: Buffer, from: number): number {
    let at = from
    if (this.#escaped && at < bytes.length) {
      this.#escaped = false
      at++
    }
    const close = closingQuote(bytes, at)
    this.#inString = close >= bytes.length
    if (this.#inString) {
      let before = bytes.length
      while (before > at && bytes[before - 1] === BACKSLASH) before--
      // An even run of backslashes escapes itself.
      if ((bytes.length - before) % 2 === 1) this.#escaped = true
      return bytes.length
    }
    if (this.#isKey) this.#keyEnd = this.#before + close
    return close + 1
  }
}

/**
 * The top-level members of a JSON object, in the order of the bytes. Throws GatewayError invalid_request past a limit,
 * nothing else on any bytes.
 */
export function scanObject(bytes: Buffer, limits?: JsonLimits): Member[] {
  const entries: Entry[] = []
  new JsonScanner({ limits, each: (entry) => entries.push(entry) }).push(bytes)
  return membersOf(bytes, entries)
}

/** The members among the entries of an object in `bytes`. */
export function membersOf(bytes: Buffer, entries: readonly Entry[]): Member[] {
  const members: Member[] = []
  for (const { keyStart, keyEnd, start, end } of entries)
    if (keyEnd >= 0) members.push({ rawKey: bytes.toString('utf8', keyStart, keyEnd), start, end })
  return members
}

/** Escaped quotes cluster: this close behind one, comparing bytes is faster than searching for the next. */
export const NEAR_BYTES = 64

/** Index of the quote that closes the string that `from` is in; the end of the bytes when none does. */
function closingQuote(bytes: Buffer, from: number): number {
  for (let at = from; ; ) {
    let near = Math.min(bytes.length, at + NEAR_BYTES)
    for (; at < near; at++) {
      const byte = bytes[at]
      if (byte === QUOTE_BYTE) return at
      if (byte !== BACKSLASH) continue
      at++
      if (bytes[at] === QUOTE_BYTE) near = Math.min(bytes.length, at + NEAR_BYTES)
    }
    const quote = bytes.indexOf(QUOTE_BYTE, at)
    if (quote < 0) return bytes.length
    let before = quote - 1
    while (before >= at && bytes[before] === BACKSLASH) before--
    // An even run of backslashes before a quote escapes itself, not the quote.
    if ((quote - before) % 2 === 1) return quote
    at = quote + 1
  }
}
