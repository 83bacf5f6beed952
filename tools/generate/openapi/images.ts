/** /v1/images: creating and editing images. */
import { z } from 'zod'
import { ENDPOINTS } from '../../../contract/endpoints.ts'
import { MULTIPART } from '../../../proxy/dialects/images/form/boundary.ts'
import { MAX_COUNT, MAX_PARTIALS, SIZE } from '../../../proxy/dialects/images/head.ts'
import { MAX_IMAGES } from '../../../proxy/dialects/images/image-type.ts'
import { MODEL_CALL } from './errors.ts'
import { type Answer, EVENTS_TYPE, JSON_TYPE, type Operation } from './operation.ts'
import { anyObject, events, model, named, nullable, stream } from './schemas.ts'

const required = { model, prompt: z.string().min(1) }
const count = z.int().min(1).max(MAX_COUNT)
const size = z.string().regex(SIZE)
const partials = z.int().min(0).max(MAX_PARTIALS)
const optional = {
  n: nullable(count),
  size: nullable(size),
  stream,
  partial_images: nullable(partials),
}
const example = { model: 'example', prompt: 'A lighthouse at dusk' }

const generation = z
  .looseObject({ ...required, ...optional })
  .meta({ examples: [example] })
  .register(named, { id: 'ImageRequest' })

const url = z.string().min(1).describe('An address, or a base64 data URL of a PNG, JPEG or WebP image.')
const image = z
  .union([
    z.looseObject({ file_id: z.string().min(1), image_url: z.null().optional() }),
    z.looseObject({ image_url: url }),
  ])
  .register(named, { id: 'ImageReference' })

const edit = z
  .looseObject({
    ...required,
    ...optional,
    images: z.array(image).min(1).max(MAX_IMAGES),
    mask: nullable(image),
  })
  .meta({ examples: [{ ...example, images: [{ image_url: 'https://example.com/lighthouse.png' }] }] })
  .register(named, { id: 'ImageEditRequest' })

/** Fields of a form are texts, so they are never null. */
const form = z
  .looseObject({
    ...required,
    image: z.file().describe(`A PNG, JPEG or WebP image; as \`image[]\` up to ${MAX_IMAGES}.`),
    mask: z.file().optional(),
    n: count.optional(),
    size: size.optional(),
    stream: z.boolean().optional(),
    partial_images: partials.optional(),
  })
  .register(named, { id: 'ImageEditForm' })

const made = z.looseObject({ data: z.array(anyObject).min(1) }).register(named, { id: 'Images' })

const answer: Answer = {
  description: 'The images, or a stream of events.',
  content: { [JSON_TYPE]: made, [EVENTS_TYPE]: events },
  headers: ['x-sluice-dropped'],
}

const shared = { method: 'post', tag: 'Images', codes: MODEL_CALL, family: 'openai' } as const

export const images: Operation[] = [
  {
    ...shared,
    path: ENDPOINTS.images.path,
    id: 'createImage',
    summary: 'Create images',
    request: { [JSON_TYPE]: generation },
    answers: { 200: answer },
  },
  {
    ...shared,
    path: ENDPOINTS.image_edits.path,
    id: 'editImage',
    summary: 'Edit images',
    description: 'A large form must have its text fields before its files.',
    request: { [JSON_TYPE]: edit, [MULTIPART]: form },
    answers: { 200: answer },
  },
]
