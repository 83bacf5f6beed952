/** Measures the model's output in the `delta` of a choice. */
import type { Delivered } from '../../../../contract/sizes.ts'
import { isEmpty, isRecord } from '../../core/json/value.ts'
import { addText } from '../../core/neutral/delivered.ts'

/** Keys of text that the model wrote; `arguments` and `input` belong to function and custom tool calls. */
const OUTPUT_KEYS = new Set(['content', 'reasoning_content', 'reasoning', 'refusal', 'arguments', 'input'])

/** Adds the texts in a delta at any depth, because upstreams nest them differently. */
export function countDelta(delta: unknown, delivered: Delivered): void {
  // Not recursive: without this, a deeply nested delta overflows the stack.
  const open: { value: unknown; counts: boolean }[] = [{ value: delta, counts: false }]
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    const { value, counts } = next
    if (counts) addText(delivered, value)
    if (Array.isArray(value)) for (const entry of value) open.push({ value: entry, counts })
    else if (isRecord(value))
      for (const key of Object.keys(value)) open.push({ value: value[key], counts: OUTPUT_KEYS.has(key) })
  }
}

/** True when a delta has more than a role: text, a call, an image. */
export function hasContent(delta: unknown): boolean {
  return isRecord(delta) && Object.keys(delta).some((key) => key !== 'role' && !isEmpty(delta[key]))
}
