/**
 * The model list, in one shape that the OpenAI and the Anthropic SDKs both read. It shows the models that the calling key
 * may use, whatever the balance of its account.
 */
import type { RouteRecord } from '../../../contract/table/records.ts'
import type { Caller } from '../../auth/authenticate.ts'
import { GatewayError } from '../../errors.ts'
import { modelAllowed, type RoutingTable } from '../../table/routing.ts'
import { isServed } from '../route.ts'

export interface ModelObject {
  id: string
  object: 'model'
  type: 'model'
  /** Seconds since the epoch. */
  created: number
  /** RFC 3339. */
  created_at: string
  owned_by: string
  display_name: string
  description?: string
  max_input_tokens?: number
  max_tokens?: number
}

export interface ModelPage {
  object: 'list'
  data: ModelObject[]
  has_more: boolean
  first_id: string | null
  last_id: string | null
}

export interface PageQuery {
  limit?: number
  afterId?: string | undefined
  beforeId?: string | undefined
}

export const MAX_LIMIT = 1_000
export const DEFAULT_LIMIT = 20

/** Reads `limit`, `after_id` and `before_id`; undefined without any of them: then the list is complete. */
export function pageQuery(query: URLSearchParams): PageQuery | undefined {
  const limit = query.get('limit')
  const afterId = query.get('after_id') ?? undefined
  const beforeId = query.get('before_id') ?? undefined
  if (limit === null && afterId === undefined && beforeId === undefined) return undefined
  if (limit !== null && !(/^[0-9]{1,4}$/.test(limit) && Number(limit) >= 1 && Number(limit) <= MAX_LIMIT)) {
    throw new GatewayError('invalid_request', `limit must be an integer from 1 to ${MAX_LIMIT}.`, {
      param: 'limit',
    })
  }
  return { limit: limit === null ? DEFAULT_LIMIT : Number(limit), afterId, beforeId }
}

export function listModels(table: RoutingTable, caller: Caller, page: PageQuery | undefined): ModelPage {
  const all = [...table.models(caller.key.namespace)]
    .filter(({ model }) => mayUse(table, caller, model))
    .map(({ model, route }) => modelObject(route, model))
  const { data, hasMore } = page === undefined ? { data: all, hasMore: false } : slice(all, page)
  return {
    object: 'list',
    data,
    has_more: hasMore,
    first_id: data[0]?.id ?? null,
    last_id: data.at(-1)?.id ?? null,
  }
}

/** One model, also one that matches a wildcard only. Throws not_found when the key cannot see it. */
export function findModel(table: RoutingTable, caller: Caller, model: string): ModelObject {
  const match = table.match(caller.key.namespace, model)
  if (match === undefined || !mayUse(table, caller, model)) {
    throw new GatewayError('not_found', 'This model does not exist, or your API key has no access to it.', {
      param: 'model',
    })
  }
  return modelObject(match.route, model)
}

function mayUse(table: RoutingTable, caller: Caller, model: string): boolean {
  return modelAllowed(caller.key.models, model) && isServed(table, caller, model)
}

function modelObject(route: RouteRecord, id: string): ModelObject {
  return {
    id,
    object: 'model',
    type: 'model',
    created: route.created,
    created_at: new Date(route.created * 1_000).toISOString(),
    owned_by: route.display.owner ?? 'sluice',
    display_name: route.display.name ?? id,
    ...(route.display.description === undefined ? {} : { description: route.display.description }),
    ...(route.contextLength === undefined ? {} : { max_input_tokens: route.contextLength }),
    ...(route.maxOutputTokens === undefined ? {} : { max_tokens: route.maxOutputTokens }),
  }
}

/** Cursor paging: the page starts after `after_id`, or ends before `before_id`. */
function slice(all: ModelObject[], { limit = DEFAULT_LIMIT, afterId, beforeId }: PageQuery) {
  if (beforeId !== undefined) {
    const end = indexOf(all, beforeId, 'before_id')
    const start = Math.max(0, end - limit)
    return { data: all.slice(start, end), hasMore: start > 0 }
  }
  const start = afterId === undefined ? 0 : indexOf(all, afterId, 'after_id') + 1
  return { data: all.slice(start, start + limit), hasMore: start + limit < all.length }
}

function indexOf(all: ModelObject[], id: string, param: string): number {
  const index = all.findIndex((model) => model.id === id)
  if (index < 0) throw new GatewayError('invalid_request', `${param} is not a model of this list.`, { param })
  return index
}
