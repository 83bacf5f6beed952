/** Measures what the model wrote in the `delta` of a choice. */
import type { Delivered } from '../../../../contract/sizes.ts'
import { isRecord } from '../../core/json/value.ts'
import { addText } from '../../core/neutral/delivered.ts'

/** Keys whose text the model wrote; `arguments` and `input` are those of function and custom tool calls. */
const OUTPUT_KEYS = new Set(['content', 'reasoning_content', 'reasoning', 'refusal', 'arguments', 'input'])

/** Adds the texts in a delta, at whatever depth: upstreams nest them in their own ways. */
export function countDelta(delta: unknown, delivered: Delivered): void {
  // A list of what is still to be read: a delta may nest deeper than calls can.
  const open: { value: unknown; counts: boolean }[] = [{ value: delta, counts: false }]
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    const { value, counts } = next
    if (counts) addText(delivered, value)
    if (Array.isArray(value)) for (const entry of value) open.push({ value: entry, counts })
    else if (isRecord(value))
      for (const key of Object.keys(value)) open.push({ value: value[key], counts: OUTPUT_KEYS.has(key) })
  }
}

/** True when a delta brings more than its role: text, a call, a picture. */
export function hasContent(delta: unknown): boolean {
  return isRecord(delta) && Object.keys(delta).some((key) => key !== 'role' && !isEmpty(delta[key]))
}

function isEmpty(value: unknown): boolean {
  return value === null || value === undefined || value === '' || (Array.isArray(value) && value.length === 0)
}
