/** Finds keys in the JSON of a stream without parsing it. Positions are those of the stream's bytes as Latin-1. */

const QUOTE = 0x22
const COLON = 0x3a
const SPACE = 0x20
// Keys without their first quote: the search then begins with a rarer character.
const DELTA = 'delta"'
const TELLING = ['usage"', 'error"', 'finish_reason"']
const NOWHERE = Number.MAX_SAFE_INTEGER

/** Walks one key through a text, so that a text with many events is searched once and not once an event. */
class KeyCursor {
  readonly #needle: string
  readonly #text: string
  #next = -1

  constructor(needle: string, text: string) {
    this.#needle = needle
    this.#text = text
  }

  /** Start of the value of the next such key in [from, end), or -1. */
  valueIn(from: number, end: number): number {
    for (let at = from; ; at = this.#next + 1) {
      if (this.#next < at) {
        const found = this.#text.indexOf(this.#needle, at)
        this.#next = found < 0 ? NOWHERE : found
      }
      if (this.#next >= end) return -1
      const value = this.#valueAfter(this.#next)
      if (value >= 0) return value
    }
  }

  /** Start of the value when a key stands at `at`; -1 when it is the end of some string. */
  #valueAfter(at: number): number {
    if (this.#text.charCodeAt(at - 1) !== QUOTE) return -1
    const colon = skipSpaces(this.#text, at + this.#needle.length)
    return this.#text.charCodeAt(colon) === COLON ? skipSpaces(this.#text, colon + 1) : -1
  }
}

/** The keys that matter in the chunks of one buffer; questions must move forward through the text. */
export class KeySearch {
  readonly #text: string
  readonly #delta: KeyCursor
  readonly #telling: KeyCursor[]

  constructor(latin1: string) {
    this.#text = latin1
    this.#delta = new KeyCursor(DELTA, latin1)
    this.#telling = TELLING.map((needle) => new KeyCursor(needle, latin1))
  }

  /** Start of the next `delta` value in [from, end), or -1. */
  delta(from: number, end: number): number {
    return this.#delta.valueIn(from, end)
  }

  /** True when usage, error or finish_reason, at whatever depth, is there with a value. */
  hasTelling(from: number, end: number): boolean {
    return this.#telling.some((key) => {
      for (let at = key.valueIn(from, end); at >= 0; at = key.valueIn(at, end)) {
        if (!this.#text.startsWith('null', at) && !this.#text.startsWith('""', at)) return true
      }
      return false
    })
  }
}

function skipSpaces(text: string, from: number): number {
  let at = from
  while (text.charCodeAt(at) === SPACE) at++
  return at
}
