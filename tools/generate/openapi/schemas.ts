/** Schemas that several operations share, and the registry of named ones. */
import { z } from 'zod'
import { MAX_MODEL_LENGTH } from '../../../proxy/dialects/core/json/fields.ts'
import type { Parameter } from './operation.ts'

/** Schemas with a name in the document; others are written where they are used. */
export const named = z.registry<{ id: string }>()

export const model = z
  .string()
  .min(1)
  .max(MAX_MODEL_LENGTH)
  .meta({
    description: 'The gateway’s name of a model that the key may use.',
    // No control characters, in a syntax that every implementation supports.
    pattern: '^[^\\u0000-\\u001f\\u007f-\\u009f]+$',
  })
  .register(named, { id: 'ModelName' })

/** Null counts as absent, as everywhere in requests. */
export const nullable = <T extends z.ZodType>(schema: T) => schema.nullish()

export const stream = nullable(z.boolean()).describe('Whether the answer comes as server-sent events.')

/** An element whose kind is its `type`. The upstream defines its other fields. */
export const typed = z.looseObject({ type: z.string() }).register(named, { id: 'Typed' })

export const anyObject = z.looseObject({})

/** An event of a stream (https://html.spec.whatwg.org/multipage/server-sent-events.html). */
export const events = z
  .strictObject({
    event: z.string().exactOptional(),
    data: z.string().describe('JSON, except the `[DONE]` at the end of chat completions.'),
  })
  .describe('An event of the stream. A failure after the first event is an event too.')
  .register(named, { id: 'StreamEvent' })

/** A parameter of paths that both families of SDKs use. */
export const errorShape: Parameter = {
  name: 'anthropic-version',
  in: 'header',
  description: 'If present, errors have the shape of the messages API.',
  schema: z.string(),
}
