import type { Delivered } from '../../../../contract/sizes.ts'

/** Keys whose text the model wrote; `arguments` and `input` are those of function and custom tool calls. */
const OUTPUT_KEYS = new Set(['content', 'reasoning_content', 'reasoning', 'refusal', 'arguments', 'input'])

const QUOTE = 0x22
const COLON = 0x3a
const SPACE = 0x20
const BACKSLASH = 0x5c
const SMALL_U = 0x75

/** What was counted, and where the last text of it stands, without its quotes. */
export interface Counted extends Delivered {
  from: number
  to: number
}

/**
 * Adds the texts in one `delta` object to `delivered` and returns the index after what it read. `latin1` is the
 * stream's bytes, the object begins at `from` and ends before `end`; bytes that are no JSON add a wrong number and
 * nothing worse.
 */
export function countDelta(latin1: string, from: number, end: number, delivered: Counted): number {
  let depth = 0
  let counts = false
  for (let i = from; i < end; i++) {
    switch (latin1[i]) {
      case '{':
      case '[':
        depth++
        break
      case '}':
      case ']':
        if (--depth <= 0) return i + 1
        break
      case '"': {
        const open = i
        let escaped = 0
        for (i++; i < end && latin1.charCodeAt(i) !== QUOTE; i++) {
          if (latin1.charCodeAt(i) !== BACKSLASH) continue
          // \n stands for one byte, \u65e5 for about three.
          const rest = latin1.charCodeAt(i + 1) === SMALL_U ? 5 : 1
          escaped += rest === 5 ? 3 : 1
          i += rest
        }
        let after = i + 1
        while (latin1.charCodeAt(after) === SPACE) after++
        if (latin1.charCodeAt(after) === COLON) {
          counts = OUTPUT_KEYS.has(latin1.slice(open + 1, i))
        } else if (counts && i > open + 1) {
          delivered.deltas++
          delivered.bytes += i - open - 1 - escaped
          delivered.from = open + 1
          delivered.to = i
        }
        break
      }
    }
    if (depth === 0) return i + 1
  }
  return end
}
