/** Replaces single values in the bytes of a JSON object. All other bytes stay as the client wrote them. */
import type { Member } from './scanner.ts'

/** The position of a value. */
export interface Span {
  start: number
  end: number
}

/** Bytes to replace with a text. */
export interface Cut extends Span {
  text: string
}

export function spanOf(members: readonly Member[], key: string): Span | undefined {
  const member = members.find((m) => m.rawKey === key)
  return member && { start: member.start, end: member.end }
}

/** The cut that sets a member, at the end of the object if it is absent. `members`: all members of the object. */
export function memberCut(members: readonly Member[], key: string, text: string): Cut {
  const span = spanOf(members, key)
  if (span !== undefined) return { ...span, text }
  const end = members.at(-1)?.end ?? 0
  return { start: end, end, text: `,"${key}":${text}` }
}

/** The body itself when there is nothing to cut. */
export function cut(body: Buffer, cuts: readonly Cut[]): Buffer {
  if (cuts.length === 0) return body
  const pieces: Buffer[] = []
  let from = 0
  for (const { start, end, text } of cuts.toSorted((a, b) => a.start - b.start)) {
    pieces.push(body.subarray(from, start), Buffer.from(text))
    from = end
  }
  return Buffer.concat([...pieces, body.subarray(from)])
}
