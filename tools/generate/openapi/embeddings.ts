/** POST /v1/embeddings. */
import { z } from 'zod'
import { ENDPOINTS } from '../../../contract/endpoints.ts'
import { MAX_INPUTS } from '../../../proxy/dialects/embeddings/request.ts'
import { MODEL_CALL } from './errors.ts'
import { JSON_TYPE, type Operation } from './operation.ts'
import { anyObject, model, named, nullable } from './schemas.ts'

const tokens = z.array(z.int().min(0))

const request = z
  .looseObject({
    model,
    input: z
      .union([
        z.string(),
        tokens.min(1),
        z.array(z.string()).min(1).max(MAX_INPUTS),
        z.array(tokens).min(1).max(MAX_INPUTS),
      ])
      .describe('A text, a list of texts, the tokens of a text, or a list of token lists.'),
    encoding_format: nullable(z.enum(['float', 'base64'])),
    dimensions: nullable(z.int().min(1)),
    stream: nullable(z.literal(false)),
  })
  .meta({ examples: [{ model: 'example', input: ['Hello there', 'Good morning'] }] })
  .register(named, { id: 'EmbeddingsRequest' })

const answer = z
  .looseObject({ data: z.array(anyObject).describe('One vector for each input, in the same order.') })
  .register(named, { id: 'Embeddings' })

export const embeddings: Operation = {
  method: 'post',
  path: ENDPOINTS.embeddings.path,
  id: 'createEmbeddings',
  tag: 'Embeddings',
  summary: 'Turn texts into vectors',
  request: { [JSON_TYPE]: request },
  answers: { 200: { description: 'The vectors.', content: { [JSON_TYPE]: answer } } },
  codes: MODEL_CALL,
  family: 'openai',
}
