/** Looks at a JSON body while it comes: one that is beyond its limits, or no object at all, is refused in mid-way. */
import { BACKSLASH, OPEN_OBJECT, QUOTE as QUOTE_BYTE } from '../../../../kit/bytes.ts'
import { GatewayError } from '../../../errors.ts'
import type { JsonLimits } from '../dialect.ts'
import {
  CLOSE,
  COLON,
  COMMA,
  KIND,
  NEAR_BYTES,
  OPEN,
  QUOTE,
  SPACE,
  tooDeep,
  tooManyKeys,
  tooManyValues,
} from './scan.ts'

export class JsonGuard {
  readonly #limits: JsonLimits
  #begun = false
  #inString = false
  /** The last byte was a backslash that escapes the next. */
  #escaped = false
  #depth = 0
  #keys = 0
  #values = 0

  constructor(limits: JsonLimits) {
    this.#limits = limits
  }

  /** Takes the next bytes. Throws GatewayError invalid_request for what `scanObject` would refuse, too. */
  push(bytes: Buffer): void {
    const { maxDepth, maxKeys, maxValues = Infinity } = this.#limits
    for (let i = this.#inString ? this.#afterString(bytes, 0) : 0; i < bytes.length; i++) {
      const kind = KIND[bytes[i] ?? 0]
      if (kind === SPACE) continue
      if (!this.#begun && bytes[i] !== OPEN_OBJECT)
        throw new GatewayError('invalid_request', 'The body must be a JSON object.')
      this.#begun = true
      if (kind === QUOTE) i = this.#afterString(bytes, i + 1) - 1
      else if (kind === COLON) {
        if (++this.#keys > maxKeys) throw tooManyKeys(maxKeys)
      } else if (kind === OPEN) {
        if (++this.#values > maxValues) throw tooManyValues(maxValues)
        if (++this.#depth > maxDepth) throw tooDeep(maxDepth)
      } else if (kind === CLOSE) this.#depth--
      else if (kind === COMMA && ++this.#values > maxValues) throw tooManyValues(maxValues)
    }
  }

  /** The index behind the quote that ends the string; the end of the bytes when it goes on. */
  #afterString(bytes: Buffer, from: number): number {
    this.#inString = true
    let at = from
    if (this.#escaped && at < bytes.length) {
      this.#escaped = false
      at++
    }
    while (at < bytes.length) {
      // Escaped quotes mostly come in company.
      for (const near = Math.min(bytes.length, at + NEAR_BYTES); at < near; at++) {
        if (bytes[at] === BACKSLASH) {
          if (at + 1 === bytes.length) {
            this.#escaped = true
            return at + 1
          }
          at++
        } else if (bytes[at] === QUOTE_BYTE) {
          this.#inString = false
          return at + 1
        }
      }
      if (at >= bytes.length) break
      const quote = bytes.indexOf(QUOTE_BYTE, at)
      const end = quote < 0 ? bytes.length : quote
      let before = end
      while (before > at && bytes[before - 1] === BACKSLASH) before--
      // An even run of backslashes escapes itself.
      const isEscaped = (end - before) % 2 === 1
      if (quote < 0) {
        this.#escaped = isEscaped
        return end
      }
      if (!isEscaped) {
        this.#inString = false
        return quote + 1
      }
      at = quote + 1
    }
    return at
  }
}
