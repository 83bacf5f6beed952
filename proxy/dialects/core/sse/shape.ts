/**
 * Saves parsing similar events. Most events of a stream differ from the previous one only in one text, a counter and
 * padding: such an event is as valid as the parsed one and carries nothing else. Positions count the stream's bytes as
 * Latin-1.
 */
import { BACKSLASH, NINE, QUOTE, SPACE, ZERO } from '../../../../kit/bytes.ts'

/** Keys of text that the model wrote, in any dialect. */
const TEXTS = new Set([
  'content',
  'reasoning_content',
  'reasoning',
  'refusal',
  'arguments',
  'input',
  'delta',
  'text',
  'thinking',
  'partial_json',
])
/** In an event without a backslash every match is a key with its value. */
const MEMBER = /"(\w{1,32})": ?(?:"([^"]*)"|(\d{1,15}))/g
/** An event with usage says more than its text, even if the next one has the same. */
const USAGE = /"usage": ?\{/
const COUNTER = 'sequence_number'
const PADDING = 'obfuscation'

type Hole = 'text' | 'padding' | 'counter'

const SMALL_U = 0x75
const ESCAPES = new Set([...'"\\/bfnrt'].map((char) => char.charCodeAt(0)))

export class EventShape {
  /** The text before each hole, and after the last one. */
  #literals: string[] = []
  #holes: Hole[] = []

  /** Weight of the text in the event from `start` to `end`; -1 when the event differs from the learned one or has no text. */
  textWeight(latin1: string, start: number, end: number): number {
    let at = start
    let weight = -1
    for (let i = 0; i < this.#holes.length; i++) {
      at = this.#after(latin1, at, i)
      if (at < 0) return -1
      if (this.#holes[i] === 'counter') {
        at = counterEnd(latin1, at)
      } else {
        const close = textEnd(latin1, at, end)
        if (close >= 0 && this.#holes[i] === 'text') weight = weightOf(latin1, at, close)
        at = close
      }
      if (at < 0) return -1
    }
    const stop = weight > 0 ? this.#after(latin1, at, this.#holes.length) : -1
    return stop === end ? weight : -1
  }

  /** Learns a parsed event that carries one text of the model, of this weight, and nothing else. */
  learn(latin1: string, start: number, end: number, weight: number): void {
    const event = latin1.slice(start, end)
    if (event.includes('\\') || USAGE.test(event)) return
    const literals: string[] = []
    const holes: Hole[] = []
    let from = 0
    let texts = 0
    for (const { index, 0: member, 1: key = '', 2: text, 3: number } of event.matchAll(MEMBER)) {
      const hole = holeOf(key, text, number)
      if (hole === undefined) continue
      const value = text ?? number ?? ''
      const to = index + member.length - (text === undefined ? 0 : 1)
      if (hole === 'text' && (++texts > 1 || weightOf(value, 0, value.length) !== weight)) return
      literals.push(event.slice(from, to - value.length))
      holes.push(hole)
      from = to
    }
    if (texts === 0) return
    this.#literals = [...literals, event.slice(from)]
    this.#holes = holes
  }

  /** Index after literal `i` if it is at `at`, else -1. Comparing slices is faster than startsWith. */
  #after(latin1: string, at: number, i: number): number {
    const literal = this.#literals[i] ?? ''
    const stop = at + literal.length
    return latin1.slice(at, stop) === literal ? stop : -1
  }
}

function holeOf(key: string, text: string | undefined, number: string | undefined): Hole | undefined {
  if (number !== undefined) return key === COUNTER ? 'counter' : undefined
  if (key === PADDING) return 'padding'
  return TEXTS.has(key) && text !== '' ? 'text' : undefined
}

/** Index of the quote that ends the JSON string at `from`; -1 when it is invalid or continues beyond `end`. */
function textEnd(latin1: string, from: number, end: number): number {
  for (let i = from; i < end; i++) {
    const code = latin1.charCodeAt(i)
    if (code === QUOTE) return i
    if (code < SPACE) return -1
    if (code !== BACKSLASH) continue
    const escaped = latin1.charCodeAt(++i)
    if (ESCAPES.has(escaped)) continue
    if (escaped !== SMALL_U || !/^[\da-f]{4}$/i.test(latin1.slice(i + 1, i + 5))) return -1
    i += 4
  }
  return -1
}

/** First bytes of the UTF-8 of U+3000 to U+FFFF. */
const WIDE = { from: 0xe3, to: 0xef }

/** Approximate weight (contract/text.ts) of the JSON string: \n is one byte, \u65e5 about three. */
function weightOf(latin1: string, from: number, to: number): number {
  let weight = to - from
  for (let i = from; i < to; i++) {
    const code = latin1.charCodeAt(i)
    if (code >= WIDE.from && code <= WIDE.to) weight++
    else if (code === BACKSLASH) weight -= latin1.charCodeAt(++i) === SMALL_U ? 3 : 1
  }
  return weight
}

/** Index after the number at `from`; -1 when it is not valid JSON. */
function counterEnd(latin1: string, from: number): number {
  let at = from
  while (latin1.charCodeAt(at) >= ZERO && latin1.charCodeAt(at) <= NINE) at++
  return at === from || (at > from + 1 && latin1.charCodeAt(from) === ZERO) ? -1 : at
}
