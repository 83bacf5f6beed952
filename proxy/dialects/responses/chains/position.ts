/** The position of a request in its conversation. */
import type { ChainPosition } from '../../core/chains.ts'
import { isBoolean, isString, readOptional, refusal } from '../../core/json/fields.ts'
import { type Fields, isRecord, isText, listOf } from '../../core/json/value.ts'

/** Characters of a response id, which any upstream may have chosen. */
export const MAX_ID_LENGTH = 1024
const MAX_BOUND = 4

/** `value` is the body of a request. Throws GatewayError naming the field. */
export function readPosition(value: Fields): ChainPosition {
  const previous = readOptional(value, 'previous_response_id', isString, 'a string')
  const store = readOptional(value, 'store', isBoolean, 'true or false') ?? true
  if (previous === '') throw refusal('previous_response_id', 'must not be empty')
  if (previous !== undefined && previous.length > MAX_ID_LENGTH) {
    throw refusal('previous_response_id', `must have at most ${MAX_ID_LENGTH} characters`)
  }
  if (previous !== undefined && value.conversation !== undefined && value.conversation !== null) {
    throw refusal('conversation', 'must be absent beside previous_response_id')
  }
  const items = listOf(value.input)
  const bound = boundOf(items)
  const references = items.flatMap((item) => referenceOf(item) ?? [])
  return { ...(previous !== undefined && { previous }), store, bound, references }
}

/** Encrypted content and references, which only one upstream understands. Those of the newest items, the newest last. */
export function boundOf(items: readonly unknown[]): string[] {
  const texts: string[] = []
  for (let i = items.length - 1; i >= 0 && texts.length < MAX_BOUND; i--) {
    const text = encryptedOf(items[i]) ?? referenceOf(items[i])
    if (text !== undefined) texts.unshift(text)
  }
  return texts
}

/** The encrypted content of a reasoning item or a compaction. */
export function encryptedOf(item: unknown): string | undefined {
  const text = isRecord(item) ? item.encrypted_content : undefined
  return isText(text) ? text : undefined
}

/** The id that an item refers to: `{type: item_reference, id}`, or an id alone. */
export function referenceOf(item: unknown): string | undefined {
  if (!isRecord(item) || typeof item.id !== 'string' || item.id === '' || item.id.length > MAX_ID_LENGTH)
    return undefined
  const isBare = (item.type === undefined || item.type === null) && item.role === undefined
  return item.type === 'item_reference' || isBare ? item.id : undefined
}
