/** Finds the type of an event without parsing it. Positions are those of the stream's bytes as Latin-1 text. */

const LF = 0x0a
const CR = 0x0d
const SPACE = 0x20
const QUOTE = 0x22
const BACKSLASH = 0x5c
const SMALL_U = 0x75

/**
 * The type of the event at [start, end): of its `event:` line or of the first key of its data. Undefined when it stands
 * elsewhere, or nowhere.
 */
export function eventType(text: string, start: number, end: number): string | undefined {
  if (text.startsWith('event:', start)) {
    const from = skipSpaces(text, start + 6)
    let to = from
    while (to < end && text.charCodeAt(to) !== LF && text.charCodeAt(to) !== CR) to++
    return text.slice(from, to)
  }
  if (!text.startsWith('data:', start)) return undefined
  let at = skipSpaces(text, start + 5)
  if (!text.startsWith('{"type":', at)) return undefined
  at = skipSpaces(text, at + 8)
  if (text.charCodeAt(at) !== QUOTE) return undefined
  const close = text.indexOf('"', at + 1)
  return close < 0 || close >= end ? undefined : text.slice(at + 1, close)
}

/** UTF-8 bytes of the text in the event's `delta`, roughly: an escape counts as what it stands for. */
export function deltaBytes(text: string, start: number, end: number): number {
  const key = text.indexOf('"delta":', start)
  if (key < 0 || key >= end) return 0
  const open = skipSpaces(text, key + 8)
  if (text.charCodeAt(open) !== QUOTE) return 0
  let bytes = 0
  for (let i = open + 1; i < end && text.charCodeAt(i) !== QUOTE; i++) {
    bytes++
    if (text.charCodeAt(i) !== BACKSLASH) continue
    const isUnicode = text.charCodeAt(i + 1) === SMALL_U
    // \n stands for one byte, \u65e5 for about three.
    if (isUnicode) bytes += 2
    i += isUnicode ? 5 : 1
  }
  return bytes
}

function skipSpaces(text: string, from: number): number {
  let at = from
  while (text.charCodeAt(at) === SPACE) at++
  return at
}
