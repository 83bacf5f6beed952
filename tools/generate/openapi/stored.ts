/** /v1/responses/{id}: stored responses. */
import { z } from 'zod'
import { ENDPOINTS } from '../../../contract/endpoints.ts'
import {
  DEFAULT_ITEMS,
  MAX_ID_LENGTH,
  MAX_INCLUDES,
  MAX_ITEMS,
} from '../../../proxy/pipeline/stored-responses/item-page.ts'
import { JSON_TYPE, type Operation, type Parameter } from './operation.ts'
import { response } from './responses.ts'
import { anyObject, named } from './schemas.ts'

const path = `${ENDPOINTS.responses.path}/{id}`
const id: Parameter = {
  name: 'id',
  in: 'path',
  description: 'Id of the response.',
  schema: z
    .string()
    .min(1)
    .meta({ examples: ['resp_0123'] }),
}

const deleted = z
  .strictObject({ id: z.string(), object: z.literal('response'), deleted: z.literal(true) })
  .register(named, { id: 'DeletedResponse' })

const items = z
  .looseObject({ object: z.literal('list'), data: z.array(anyObject) })
  .register(named, { id: 'ItemPage' })

const include = {
  in: 'query' as const,
  description: 'Further fields that the items should have.',
  schema: z.array(z.string().regex(/^[A-Za-z0-9_.]{1,128}$/)).max(MAX_INCLUDES),
}

const shared = { tag: 'Responses', family: 'openai' } as const
const codes = ['not_found', 'unsupported_parameter', 'upstream_error'] as const
const description = 'A response that the key may not see counts as unknown. `stream=true` is refused.'

export const stored: Operation[] = [
  {
    ...shared,
    method: 'get',
    path: `${path}/input_items`,
    id: 'listInputItems',
    summary: 'List the input items of a stored response',
    description,
    parameters: [
      id,
      {
        name: 'limit',
        in: 'query',
        description: `Items per page; default ${DEFAULT_ITEMS}.`,
        schema: z.int().min(1).max(MAX_ITEMS),
      },
      {
        name: 'order',
        in: 'query',
        description: 'Newest first, unless `asc`.',
        schema: z.enum(['asc', 'desc']),
      },
      {
        name: 'after',
        in: 'query',
        description: 'Id of the item before the page.',
        schema: z.string().min(1).max(MAX_ID_LENGTH),
      },
      { ...include, name: 'include' },
      { ...include, name: 'include[]' },
    ],
    answers: { 200: { description: 'A page of items.', content: { [JSON_TYPE]: items } } },
    codes,
  },
  {
    ...shared,
    method: 'get',
    path,
    id: 'getResponse',
    summary: 'Read a stored response',
    description,
    parameters: [id],
    answers: { 200: { description: 'The response.', content: { [JSON_TYPE]: response } } },
    codes,
  },
  {
    ...shared,
    method: 'delete',
    path,
    id: 'deleteResponse',
    summary: 'Delete a stored response',
    description,
    parameters: [id],
    answers: { 200: { description: 'The response is deleted.', content: { [JSON_TYPE]: deleted } } },
    codes,
  },
]
