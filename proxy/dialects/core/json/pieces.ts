/** Takes pieces out of JSON texts and puts them together again, each as it was written. */
import {
  CLOSE_ARRAY,
  CLOSE_OBJECT,
  COMMA,
  CR,
  LF,
  OPEN_ARRAY,
  OPEN_OBJECT,
  QUOTE,
  SPACE,
  TAB,
} from '../../../../kit/bytes.ts'
import { closingQuote, type Member } from './scan.ts'
import type { Cut } from './splice.ts'

/** The texts of a list's elements. `list` is a valid JSON array, without space around it. */
export function elementsOf(list: Buffer): string[] {
  const texts: string[] = []
  let depth = 0
  let start = -1
  let end = 0
  for (let i = 0; i < list.length; i++) {
    const byte = list[i]
    if (byte === SPACE || byte === LF || byte === CR || byte === TAB) continue
    if (depth === 1 && (byte === COMMA || byte === CLOSE_ARRAY)) {
      if (start >= 0) texts.push(list.toString('utf8', start, end))
      start = -1
    } else if (depth === 1 && start < 0) start = i
    if (byte === QUOTE) i = closingQuote(list, i)
    else if (byte === OPEN_ARRAY || byte === OPEN_OBJECT) depth++
    else if (byte === CLOSE_ARRAY || byte === CLOSE_OBJECT) depth--
    end = i + 1
  }
  return texts
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
