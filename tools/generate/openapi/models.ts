/** /v1/models: the models that a key may use. */
import { z } from 'zod'
import {
  DEFAULT_LIMIT,
  MAX_LIMIT,
  type ModelObject,
  type ModelPage,
} from '../../../proxy/pipeline/models/models.ts'
import { JSON_TYPE, type Operation } from './operation.ts'
import { errorShape, named } from './schemas.ts'

const object = z
  .strictObject({
    id: z.string(),
    object: z.literal('model'),
    type: z.literal('model'),
    created: z.int().describe('Seconds since the epoch.'),
    created_at: z.iso.datetime(),
    owned_by: z.string(),
    display_name: z.string(),
    description: z.string().exactOptional(),
    max_input_tokens: z.int().exactOptional(),
    max_tokens: z.int().exactOptional(),
  })
  .register(named, { id: 'Model' }) satisfies z.ZodType<ModelObject>

const page = z
  .strictObject({
    object: z.literal('list'),
    data: z.array(object),
    has_more: z.boolean(),
    first_id: z.string().nullable(),
    last_id: z.string().nullable(),
  })
  .register(named, { id: 'ModelPage' }) satisfies z.ZodType<ModelPage>

const shared = { method: 'get', tag: 'Models', family: 'either' } as const

export const models: Operation[] = [
  {
    ...shared,
    path: '/v1/models',
    id: 'listModels',
    summary: 'List the models that the key may use',
    description: 'The whole list, unless a parameter requests a page.',
    parameters: [
      errorShape,
      {
        name: 'limit',
        in: 'query',
        description: `Models per page; ${DEFAULT_LIMIT} if only another parameter requests a page.`,
        schema: z.int().min(1).max(MAX_LIMIT),
      },
      {
        name: 'after_id',
        in: 'query',
        description: 'Name of the model before the page.',
        schema: z.string(),
      },
      {
        name: 'before_id',
        in: 'query',
        description: 'Name of the model after the page.',
        schema: z.string(),
      },
    ],
    answers: { 200: { description: 'The models.', content: { [JSON_TYPE]: page } } },
    codes: [],
  },
  {
    ...shared,
    path: '/v1/models/{model}',
    id: 'getModel',
    summary: 'Describe a model',
    parameters: [
      errorShape,
      {
        name: 'model',
        in: 'path',
        description: 'The model’s name; slashes need no escaping.',
        schema: z
          .string()
          .min(1)
          .meta({ examples: ['example'] }),
      },
    ],
    answers: { 200: { description: 'The model.', content: { [JSON_TYPE]: object } } },
    codes: ['not_found'],
  },
]
