/** What an answer leaves for the next request of its chain. */
import { OPEN_ARRAY } from '../../../../kit/bytes.ts'
import type { AnswerRecord } from '../../core/chains.ts'
import { elementsOf, objectOf } from '../../core/json/pieces.ts'
import { scanObject } from '../../core/json/scanner.ts'
import { cut, spanOf } from '../../core/json/splice.ts'
import { type Fields, isRecord, tryParse } from '../../core/json/value.ts'
import { boundOf, encryptedOf, MAX_ID_LENGTH } from './position.ts'

/** Items that say by themselves all that they mean. */
const SELF_CONTAINED: ReadonlySet<unknown> = new Set([
  'message',
  'function_call',
  'custom_tool_call',
  'reasoning',
])
/** What the upstream calls an item, and how far it is. */
const IDENTITY = ['id', 'status']

/**
 * `response` is the text of a response that is complete, `seen` the texts of its items where the stream told them.
 * Undefined when it has no id to go on from.
 */
export function recordOf(response: string, seen: readonly string[]): AnswerRecord | undefined {
  const value = tryParse(response)
  if (!isRecord(value) || !isId(value.id)) return undefined
  const bytes = Buffer.from(response)
  const members = scanObject(bytes)
  const span = spanOf(members, 'output')
  const list = span === undefined ? undefined : bytes.subarray(span.start, span.end)
  const told = list?.[0] === OPEN_ARRAY ? elementsOf(list) : []
  const output = told.length > 0 ? told : seen
  const items = output.map((text) => ({ text, item: tryParse(text) }))
  return {
    id: value.id,
    response: told.length > 0 ? response : withOutput(bytes, members.at(-1)?.end ?? 0, span, seen),
    items: items.flatMap(({ text, item }) =>
      isRecord(item) && saysAnything(item) ? [sent(text, item)] : [],
    ),
    itemIds: items.flatMap(({ item }) => (isRecord(item) && isId(item.id) ? [item.id] : [])),
    bound: boundOf(items.map(({ item }) => item)),
  }
}

function isId(id: unknown): id is string {
  return typeof id === 'string' && id !== '' && id.length <= MAX_ID_LENGTH
}

/** Items of a response by their ids, as a client sends them back. */
export function itemsOf(response: string): ReadonlyMap<string, string> {
  const bytes = Buffer.from(response)
  const span = spanOf(scanObject(bytes), 'output')
  const list = span === undefined ? undefined : bytes.subarray(span.start, span.end)
  const items = new Map<string, string>()
  for (const text of list?.[0] === OPEN_ARRAY ? elementsOf(list) : []) {
    const item = tryParse(text)
    if (isRecord(item) && isId(item.id)) items.set(item.id, sent(text, item))
  }
  return items
}

/** Some upstreams leave the output of the last event empty. */
function withOutput(
  bytes: Buffer,
  end: number,
  span: { start: number; end: number } | undefined,
  seen: readonly string[],
): string {
  const list = `[${seen.join(',')}]`
  const written =
    span === undefined ? { start: end, end, text: `,"output":${list}` } : { ...span, text: list }
  return cut(bytes, [written]).toString('utf8')
}

/**
 * The item as a client sends it back. An id makes an upstream look for what it has kept, and refuse what it has not: it
 * goes where the item means all the same without it. Items of hosted tools keep theirs: it is required, and others may
 * refer to it.
 */
function sent(text: string, item: Fields): string {
  const isClients = item.type === 'tool_search_call' && item.execution === 'client'
  if (!SELF_CONTAINED.has(item.type) && !isClients && encryptedOf(item) === undefined) return text
  const bytes = Buffer.from(text)
  const members = scanObject(bytes)
  return objectOf(
    bytes,
    members.filter(({ rawKey }) => !IDENTITY.includes(rawKey)),
  )
}

/** Reasoning without a word is nothing but its id, which means something only where it is kept. */
function saysAnything(item: Fields): boolean {
  if (item.type !== 'reasoning' || encryptedOf(item) !== undefined) return true
  return [item.summary, item.content].some((list) => Array.isArray(list) && list.length > 0)
}
