/**
 * Most events of a stream differ from the one before in one text alone. Where the last event gave exactly one delta,
 * and its text stands in exactly one place of the event, an event with the same bytes around that place gives the same
 * delta with its own text: it need not be parsed.
 */

import { tryParse } from '../json/value.ts'
import type { StreamPart } from '../neutral/types.ts'

/** Of running text; arguments of calls some decoders have to read themselves. */
type Delta = Extract<StreamPart, { type: 'text-delta' | 'reasoning-delta' }>

export class Repeats {
  #event = ''
  #before = ''
  #after = ''
  #delta: Delta | undefined

  /** The delta of an event, if it is one more like the last that was learned. */
  match(event: string, data: string): Delta | undefined {
    const delta = this.#delta
    if (delta === undefined || event !== this.#event) return undefined
    const start = this.#before.length
    const end = data.length - this.#after.length
    // Comparing whole slices is faster than startsWith and endsWith.
    if (end <= start || data.slice(0, start) !== this.#before || data.slice(end) !== this.#after)
      return undefined
    const text = unquoted(data.slice(start, end))
    return text === undefined || text === '' ? undefined : { ...delta, text }
  }

  forget(): void {
    this.#delta = undefined
  }

  /** `parts` is all that the event gave. */
  learn(event: string, data: string, parts: readonly StreamPart[]): void {
    this.forget()
    const [only] = parts
    if (parts.length !== 1 || only === undefined || !isPlainDelta(only)) return
    // Without escapes a text has one spelling, so that the place found is the one that was read.
    if (data.includes('\\')) return
    const literal = `"${only.text}"`
    const at = data.indexOf(literal)
    if (at < 0 || data.indexOf(literal, at + 1) >= 0) return
    this.#event = event
    this.#before = data.slice(0, at + 1)
    this.#after = data.slice(at + literal.length - 1)
    this.#delta = only
  }
}

function isPlainDelta(part: StreamPart): part is Delta {
  if (part.type !== 'text-delta' && part.type !== 'reasoning-delta') return false
  return part.text !== '' && !('logprobs' in part)
}

/** The text of a JSON string without its quotes; undefined when it is none. */
function unquoted(inside: string): string | undefined {
  if (!inside.includes('\\')) return inside.includes('"') ? undefined : inside
  const text = tryParse(`"${inside}"`)
  return typeof text === 'string' ? text : undefined
}
