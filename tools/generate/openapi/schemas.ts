/** Schemas that several operations share, and the named ones of the document. */
import { z } from 'zod'
import { MAX_MODEL_LENGTH } from '../../../proxy/dialects/core/json/fields.ts'
import type { Parameter } from './operation.ts'

/** Those that the document names; others are written where they are used. */
export const named = z.registry<{ id: string }>()

export const model = z
  .string()
  .min(1)
  .max(MAX_MODEL_LENGTH)
  .meta({
    description: 'A model that the key may use, by its name at the gateway.',
    // No control characters, in words that every implementation knows.
    pattern: '^[^\\u0000-\\u001f\\u007f-\\u009f]+$',
  })
  .register(named, { id: 'ModelName' })

/** Null is as good as absent, as everywhere in requests. */
export const nullable = <T extends z.ZodType>(schema: T) => schema.nullish()

export const stream = nullable(z.boolean()).describe('Whether the answer comes as server-sent events.')

/** An element whose kind is its `type`; what else belongs to it is the upstream's matter. */
export const typed = z.looseObject({ type: z.string() }).register(named, { id: 'Typed' })

export const anyObject = z.looseObject({})

/** One of a stream (https://html.spec.whatwg.org/multipage/server-sent-events.html). */
export const events = z
  .strictObject({
    event: z.string().exactOptional(),
    data: z.string().describe('JSON, but for the `[DONE]` that ends chat completions.'),
  })
  .describe('Each event of the stream. A failure after the first one comes as an event.')
  .register(named, { id: 'StreamEvent' })

/** Of paths that both families of SDKs use. */
export const errorShape: Parameter = {
  name: 'anthropic-version',
  in: 'header',
  description: 'With it errors have the shape of the messages API.',
  schema: z.string(),
}
