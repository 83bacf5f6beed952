/** Measures the deltas of a stream without parsing them. Texts are the stream's bytes as Latin-1, one character a byte. */
import type { Delivered } from '../../../../contract/sizes.ts'
import { addText } from '../../ir/delivered.ts'
import { isRecord } from '../../json/value.ts'

/** A delta event as upstreams write it, up to the first character of what the model wrote. */
const DELTA =
  /(?:event: ?content_block_delta\r?\n)?data: ?\{"type": ?"content_block_delta", ?"index": ?\d{1,9}, ?"delta": ?\{"type": ?"(?:text|thinking|input_json)_delta", ?"(?:text|thinking|partial_json)": ?"/y

const QUOTE = 0x22
const BACKSLASH = 0x5c
const SMALL_U = 0x75

/**
 * Index of what the model wrote in the event at `start` when that is a delta in the usual spelling; -1 for any other
 * event, which must be parsed.
 */
export function deltaText(latin1: string, start: number): number {
  DELTA.lastIndex = start
  return DELTA.test(latin1) ? DELTA.lastIndex : -1
}

/** Adds the JSON text that begins at `open`, after its quote, in an event that ends before `end`. */
export function addDelta(latin1: string, open: number, end: number, delivered: Delivered): void {
  let escaped = 0
  let at = open
  for (; at < end && latin1.charCodeAt(at) !== QUOTE; at++) {
    if (latin1.charCodeAt(at) !== BACKSLASH) continue
    // \n stands for one byte, \u65e5 for about three.
    const rest = latin1.charCodeAt(at + 1) === SMALL_U ? 5 : 1
    escaped += rest === 5 ? 3 : 1
    at += rest
  }
  if (at === open) return
  delivered.deltas++
  delivered.bytes += at - open - escaped
}

/** Adds a parsed `delta` object. */
export function addParsedDelta(delta: unknown, delivered: Delivered): void {
  if (!isRecord(delta)) return
  for (const text of [delta.text, delta.thinking, delta.partial_json]) addText(delivered, text)
}
