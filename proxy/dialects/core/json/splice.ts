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
