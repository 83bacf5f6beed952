/** Takes pieces out of JSON texts and puts them together again, each as it was written. */
import { closingQuote, type Member } from './scan.ts'
import type { Cut, Span } from './splice.ts'

const TAB = 0x09
const LF = 0x0a
const CR = 0x0d
const SPACE = 0x20
const QUOTE = 0x22
const COMMA = 0x2c
const OPEN_ARRAY = 0x5b
const CLOSE_ARRAY = 0x5d
const OPEN_OBJECT = 0x7b
const CLOSE_OBJECT = 0x7d

/** The texts of a list's elements. `list` is a valid JSON array. */
export function elementsOf(list: Buffer): string[] {
  const spans = elementSpans(list, { start: 0, end: list.length })
  return spans.map(({ start, end }) => list.toString('utf8', start, end))
}

/** Where the elements of the list at `list` stand, which is a valid JSON array. */
export function elementSpans(bytes: Buffer, list: Span): Span[] {
  const spans: Span[] = []
  let depth = 0
  let start = -1
  let end = 0
  for (let i = list.start; i < list.end; i++) {
    const byte = bytes[i]
    if (byte === SPACE || byte === LF || byte === CR || byte === TAB) continue
    if (depth === 1 && (byte === COMMA || byte === CLOSE_ARRAY)) {
      if (start >= 0) spans.push({ start, end })
      start = -1
    } else if (depth === 1 && start < 0) start = i
    if (byte === QUOTE) i = closingQuote(bytes, i)
    else if (byte === OPEN_ARRAY || byte === OPEN_OBJECT) depth++
    else if (byte === CLOSE_ARRAY || byte === CLOSE_OBJECT) depth--
    end = i + 1
  }
  return spans
}

/** An object of these members, which scanObject found in `bytes`. */
export function objectOf(bytes: Buffer, members: readonly Member[]): string {
  const texts = members.map(({ rawKey, start, end }) => `"${rawKey}":${bytes.toString('utf8', start, end)}`)
  return `{${texts.join(',')}}`
}

/** The cut that takes a member away, with the comma that parts it from the others. `members`: all of the object's. */
export function removal(bytes: Buffer, members: readonly Member[], key: string): Cut | undefined {
  const index = members.findIndex((member) => member.rawKey === key)
  const member = members[index]
  if (member === undefined) return undefined
  const before = members[index - 1]
  if (before !== undefined) return { start: bytes.indexOf(COMMA, before.end), end: member.end, text: '' }
  const end = members.length > 1 ? bytes.indexOf(COMMA, member.end) + 1 : member.end
  return { start: bytes.indexOf(OPEN_OBJECT) + 1, end, text: '' }
}
