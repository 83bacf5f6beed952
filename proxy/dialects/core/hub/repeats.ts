/**
 * Saves parsing repeated events. Most events of a stream differ from the previous one only in one text. If that event
 * gave exactly one delta, and its text occurs once in it, then an event with the same bytes around the text gives the
 * same delta with its own text.
 */

import { tryParse } from '../json/value.ts'
import type { PartOf, StreamPart } from '../neutral/types.ts'

/** Not of call arguments, which some decoders must read themselves. */
type Delta = PartOf<'text-delta' | 'reasoning-delta'>

export class Repeats {
  #event = ''
  #before = ''
  #after = ''
  #delta: Delta | undefined

  /** The delta of an event that repeats the learned one. */
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

  /** `parts`: all parts that the event gave. */
  learn(event: string, data: string, parts: readonly StreamPart[]): void {
    this.forget()
    const [only] = parts
    if (parts.length !== 1 || only === undefined || !isPlainDelta(only)) return
    // An escape is a second spelling of a text: the search would find another place than the decoder read.
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

/** The text that `inside` stands for between quotes in JSON; undefined when it is invalid. */
function unquoted(inside: string): string | undefined {
  if (!inside.includes('\\')) return inside.includes('"') ? undefined : inside
  const text = tryParse(`"${inside}"`)
  return typeof text === 'string' ? text : undefined
}
