/** Finds values of a request that are neither in its conversion nor losses. */
import { isRecord } from '../../../proxy/dialects/core/json/value.ts'

/** A significant value and its path without indexes, as in names of losses. */
export interface Leaf {
  family: string
  value: string | number
}

/** Words of the interfaces, which a conversion replaces. */
const SPELLING = new Set([
  'type',
  'role',
  'object',
  'status',
  'mode',
  'format',
  'media_type',
  'stream',
  'id',
  'model',
  'include',
  'syntax',
  'execution',
])

const isSpelling = (value: unknown) =>
  Array.isArray(value) ? value.every((item) => typeof item === 'string') : !isRecord(value)

/** JSON Schemas, whose leaves are all searched. */
export function leavesOf(value: unknown, family = ''): Leaf[] {
  if (Array.isArray(value)) return value.flatMap((item) => leavesOf(item, family))
  if (isRecord(value)) {
    return Object.entries(value).flatMap(([key, inner]) =>
      SPELLING.has(key) && isSpelling(inner) ? [] : leavesOf(inner, family === '' ? key : `${family}.${key}`),
    )
  }
  if (typeof value === 'number') return [{ family, value }]
  return typeof value === 'string' && value.trim() !== '' ? [{ family, value }] : []
}

/** Leaves of `body` that `output` lacks and `losses` do not name, as `family: value`. */
export function silent(body: unknown, output: unknown, losses: readonly string[]): string[] {
  const text = textOf(output)
  const numbers = new Set(leavesOf(output).map((leaf) => leaf.value))
  const unsaid = leavesOf(body).filter(({ family, value }) => {
    if (isPrivate(family, value) || isWord(family, value)) return false
    if (losses.some((loss) => covers(loss, family))) return false
    return typeof value === 'number' ? !numbers.has(value) : !isPresent(value, text)
  })
  return unsaid.map(({ family, value }) => `${family}: ${value}`)
}

/** Data about the client, which may be dropped for other vendors. */
const isPrivate = (family: string, value: string | number) =>
  family.startsWith('client_metadata') || String(value).startsWith('x-anthropic-billing-header:')

const DEFAULTS = [
  'n: 1',
  'modalities: text',
  'speed: standard',
  'input.content.detail: auto',
  'input.output.detail: auto',
  'truncation: disabled',
  'tool_choice: auto',
  'tool_choice: any',
  'reasoning_effort: default',
]

/** Defaults of all dialects, and words that differ between dialects; the rows test the latter. */
const isWord = (family: string, value: string | number) =>
  DEFAULTS.includes(`${family}: ${value}`) ||
  /^(?:service_tier|thinking\.display|.*(?:cache_control|prompt_cache_breakpoint)\.ttl)$/.test(family)

/** All strings of a value. JSON in strings is added again, parsed. */
function textOf(value: unknown): string {
  if (Array.isArray(value)) return value.map(textOf).join('\n')
  if (isRecord(value))
    return Object.entries(value)
      .map(([key, inner]) => `${key}\n${textOf(inner)}`)
      .join('\n')
  if (typeof value !== 'string') return String(value)
  return /^[{[]/.test(value) ? `${value}\n${unescaped(value)}` : value
}

function unescaped(json: string): string {
  try {
    return textOf(JSON.parse(json))
  } catch {
    return ''
  }
}

/** True if the text contains the value, the data of a data URL, or the values of JSON text. */
function isPresent(value: string, text: string): boolean {
  // A prefill loses trailing white space.
  if (text.includes(value.trimEnd())) return true
  if (text.includes(Buffer.from(value).toString('base64'))) return true
  const data = /^data:[^,]*,(.*)$/s.exec(value)?.[1]
  if (data !== undefined) return text.includes(data)
  if (!/^[{[]/.test(value)) return false
  const inner = unescaped(value).split('\n')
  return inner.length > 0 && inner.every((piece) => text.includes(piece))
}

/** Losses that name one field and mean the whole part. */
const STANDS_FOR: Record<string, string[]> = {
  // The gateway does not send tools that a choice forbids.
  tool_choice: ['tools'],
}

const covers = (loss: string, family: string): boolean =>
  [loss, ...(STANDS_FOR[loss] ?? [])].some((name) => family === name || family.startsWith(`${name}.`))
