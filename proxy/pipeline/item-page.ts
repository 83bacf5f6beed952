/** Pages of the items of a conversation. */
import { itemId } from '../dialects/ir/ids.ts'
import { GatewayError } from '../errors.ts'

const MAX_ITEMS = 100
const DEFAULT_ITEMS = 20

/**
 * A page of `items` (JSON texts), newest first unless asked otherwise; each has an id, which pages go on from. `id` is
 * that of the response. Throws GatewayError naming the parameter.
 */
export function itemPage(id: string, items: readonly string[], query: URLSearchParams): object {
  const answerId = id.replace(/^resp_/, '')
  const all = items.map((text, index) => withId(text, itemId('item', answerId, index)))
  if (query.get('order') !== 'asc') all.reverse()
  const after = query.get('after')
  const from = after === null ? 0 : all.findIndex((item) => item.id === after) + 1
  const page = all.slice(from, from + limitOf(query.get('limit')))
  return {
    object: 'list',
    data: page,
    first_id: page[0]?.id ?? null,
    last_id: page.at(-1)?.id ?? null,
    has_more: from + page.length < all.length,
  }
}

function withId(text: string, id: string): { id: string } {
  const item = JSON.parse(text) as Record<string, unknown>
  return { ...item, id: typeof item.id === 'string' ? item.id : id }
}

function limitOf(text: string | null): number {
  if (text === null) return DEFAULT_ITEMS
  if (/^[0-9]{1,3}$/.test(text) && Number(text) >= 1 && Number(text) <= MAX_ITEMS) return Number(text)
  throw new GatewayError('invalid_request', `limit must be an integer from 1 to ${MAX_ITEMS}.`, {
    param: 'limit',
  })
}
