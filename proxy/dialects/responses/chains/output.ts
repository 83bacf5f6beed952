/** The record of an answer for the next request of its chain. */
import { OPEN_ARRAY } from '../../../../kit/bytes.ts'
import type { AnswerRecord } from '../../core/chains.ts'
import { elementsOf, objectOf } from '../../core/json/pieces.ts'
import type { Member } from '../../core/json/scanned-body.ts'
import { scanObject } from '../../core/json/scanner.ts'
import { cut, memberCut, spanOf } from '../../core/json/splice.ts'
import { type Fields, isRecord, isText, tryParse } from '../../core/json/value.ts'
import { boundOf, encryptedOf, MAX_ID_LENGTH } from './position.ts'

/** Types of items that need no state of their upstream. */
const SELF_CONTAINED: ReadonlySet<unknown> = new Set([
  'message',
  'function_call',
  'custom_tool_call',
  'reasoning',
])
/** Fields that mean something only to the upstream that wrote the item. */
const IDENTITY = ['id', 'status']

/**
 * `response`: the text of a complete response. `streamed`: the texts of the items that its stream contained. Undefined if
 * the response has no id, so that no request can continue it.
 */
export function recordOf(response: string, streamed: readonly string[]): AnswerRecord | undefined {
  const value = tryParse(response)
  if (!isRecord(value) || !isId(value.id)) return undefined
  const bytes = Buffer.from(response)
  const members = scanObject(bytes)
  const listed = outputOf(bytes, members)
  const output = listed.length > 0 ? listed : streamed
  const items = output.map((text) => ({ text, item: tryParse(text) }))
  return {
    id: value.id,
    // Some upstreams leave the output empty in the last event.
    response: listed.length > 0 ? response : withOutput(bytes, members, streamed),
    items: items.flatMap(({ text, item }) =>
      isRecord(item) && hasContent(item) ? [asInput(text, item)] : [],
    ),
    itemIds: items.flatMap(({ item }) => (isRecord(item) && isId(item.id) ? [item.id] : [])),
    bound: boundOf(items.map(({ item }) => item)),
  }
}

function isId(id: unknown): id is string {
  return isText(id) && id.length <= MAX_ID_LENGTH
}

/** The items of a response by id, as input items. */
export function itemsOf(response: string): ReadonlyMap<string, string> {
  const bytes = Buffer.from(response)
  const items = new Map<string, string>()
  for (const text of outputOf(bytes, scanObject(bytes))) {
    const item = tryParse(text)
    if (isRecord(item) && isId(item.id)) items.set(item.id, asInput(text, item))
  }
  return items
}

/** The texts of the items in `output`; none if it is not a list. */
function outputOf(bytes: Buffer, members: readonly Member[]): string[] {
  const span = spanOf(members, 'output')
  const list = span && bytes.subarray(span.start, span.end)
  return list?.[0] === OPEN_ARRAY ? elementsOf(list) : []
}

function withOutput(bytes: Buffer, members: readonly Member[], items: readonly string[]): string {
  return cut(bytes, [memberCut(members, 'output', `[${items.join(',')}]`)]).toString('utf8')
}

/**
 * The item as a client sends it back. An id makes an upstream look for a stored item and refuse an unknown one, so items
 * that mean the same without an id lose it. Items of hosted tools keep it: it is required, and other items may refer to it.
 */
function asInput(text: string, item: Fields): string {
  const isClientSearch = item.type === 'tool_search_call' && item.execution === 'client'
  if (!SELF_CONTAINED.has(item.type) && !isClientSearch && encryptedOf(item) === undefined) return text
  const bytes = Buffer.from(text)
  const members = scanObject(bytes)
  return objectOf(
    bytes,
    members.filter(({ rawKey }) => !IDENTITY.includes(rawKey)),
  )
}

/** False for reasoning with nothing but an id, which only the upstream that stores it can use. */
function hasContent(item: Fields): boolean {
  if (item.type !== 'reasoning' || encryptedOf(item) !== undefined) return true
  return [item.summary, item.content].some((list) => Array.isArray(list) && list.length > 0)
}
