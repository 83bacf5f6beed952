/** Takes JSON apart and puts it together again without changing the bytes of its values. */
import { COMMA, OPEN_OBJECT } from '../../../../kit/bytes.ts'
import type { Member } from './scanned-body.ts'
import { type Entry, JsonScanner } from './scanner.ts'
import type { Cut, Span } from './splice.ts'

/** The JSON texts of a list's elements. `list` is a valid JSON array. */
export function elementsOf(list: Buffer): string[] {
  const spans = elementSpans(list, { start: 0, end: list.length })
  return spans.map(({ start, end }) => list.toString('utf8', start, end))
}

/** The spans of the elements of the list at `list`, a valid JSON array. */
export function elementSpans(bytes: Buffer, list: Span): Span[] {
  const spans: Span[] = []
  const each = ({ start, end }: Entry) =>
    void spans.push({ start: list.start + start, end: list.start + end })
  new JsonScanner({ each }).push(bytes.subarray(list.start, list.end))
  return spans
}

/** A JSON object of these members, which scanObject found in `bytes`. */
export function objectOf(bytes: Buffer, members: readonly Member[]): string {
  const texts = members.map(({ rawKey, start, end }) => `"${rawKey}":${bytes.toString('utf8', start, end)}`)
  return `{${texts.join(',')}}`
}

/** The cut that removes a member with its comma. `members`: all members of the object, which begins at `from`. */
export function removal(bytes: Buffer, members: readonly Member[], key: string, from = 0): Cut | undefined {
  const index = members.findIndex((member) => member.rawKey === key)
  const member = members[index]
  if (member === undefined) return undefined
  const before = members[index - 1]
  if (before !== undefined) return { start: bytes.indexOf(COMMA, before.end), end: member.end, text: '' }
  const end = members.length > 1 ? bytes.indexOf(COMMA, member.end) + 1 : member.end
  return { start: bytes.indexOf(OPEN_OBJECT, from) + 1, end, text: '' }
}
