/** Pages of the items of a conversation (https://platform.openai.com/docs/api-reference/responses/input-items). */
import { itemId } from '../../dialects/core/neutral/ids.ts'
import { GatewayError } from '../../errors.ts'

export const MAX_ITEMS = 100
export const DEFAULT_ITEMS = 20
export const MAX_ID_LENGTH = 1024
export const MAX_INCLUDES = 32
/** SDKs send the first name, hand-written clients the second. */
const INCLUDES = ['include[]', 'include']

/** The page that the client wants. */
export interface ItemQuery {
  limit?: number
  order?: 'asc' | 'desc'
  /** Id of the item before the page. */
  after?: string
  /** Optional fields of the items, with the name that the client used for the list. */
  include: (readonly [name: string, value: string])[]
}

/** Throws GatewayError naming the parameter. */
export function itemQuery(query: URLSearchParams): ItemQuery {
  const limit = query.get('limit')
  const order = query.get('order')
  const after = query.get('after')
  const include = INCLUDES.flatMap((name) => query.getAll(name).map((value) => [name, value] as const))
  if (limit !== null && !(/^[0-9]{1,3}$/.test(limit) && Number(limit) >= 1 && Number(limit) <= MAX_ITEMS))
    throw refusal('limit', `must be an integer from 1 to ${MAX_ITEMS}`)
  if (order !== null && order !== 'asc' && order !== 'desc') throw refusal('order', 'must be asc or desc')
  if (after !== null && (after === '' || after.length > MAX_ID_LENGTH)) throw unknownItem()
  if (include.length > MAX_INCLUDES || !include.every(([, value]) => /^[A-Za-z0-9_.]{1,128}$/.test(value)))
    throw refusal('include', `must be a list of at most ${MAX_INCLUDES} names of fields`)
  return {
    ...(limit !== null && { limit: Number(limit) }),
    ...(order !== null && { order }),
    ...(after !== null && { after }),
    include,
  }
}

/** The query for the same page at an upstream. Throws GatewayError for an `after` that cannot be the id of an item. */
export function upstreamItemQuery({ limit, order, after, include }: ItemQuery): string {
  if (after !== undefined && !/^[A-Za-z0-9_.:-]+$/.test(after)) throw unknownItem()
  const query = new URLSearchParams({
    ...(limit !== undefined && { limit: String(limit) }),
    ...(order && { order }),
    ...(after !== undefined && { after }),
  })
  for (const [name, value] of include) query.append(name, value)
  return query.toString()
}

/**
 * A page of `items` (JSON texts), newest first by default; each item gets a unique id, which the next page starts after.
 * `id` is that of the response. Throws GatewayError for an `after` that is not one of the items.
 */
export function itemPage(id: string, items: readonly string[], query: ItemQuery): object {
  const all = withIds(items, id.replace(/^resp_/, ''))
  if (query.order !== 'asc') all.reverse()
  const { after } = query
  const before = after === undefined ? -1 : all.findIndex((item) => item.id === after)
  if (after !== undefined && before < 0) throw unknownItem()
  const from = before + 1
  const page = all.slice(from, from + (query.limit ?? DEFAULT_ITEMS))
  return {
    object: 'list',
    data: page,
    first_id: page[0]?.id ?? null,
    last_id: page.at(-1)?.id ?? null,
    has_more: from + page.length < all.length,
  }
}

/** An item keeps its id, unless an earlier item has the same: clients may choose ids. */
function withIds(items: readonly string[], answerId: string): { id: string }[] {
  const taken = new Set<string>()
  return items.map((text, index) => {
    const item = JSON.parse(text) as Record<string, unknown>
    const own = typeof item.id === 'string' && item.id !== '' && !taken.has(item.id) ? item.id : undefined
    let id = own ?? itemId('item', answerId, index)
    while (taken.has(id)) id += `_${index}`
    taken.add(id)
    return { ...item, id }
  })
}

function unknownItem(): GatewayError {
  return refusal('after', 'must be the id of one of these items')
}

function refusal(param: string, what: string): GatewayError {
  return new GatewayError('invalid_request', `${param} ${what}.`, { param })
}
