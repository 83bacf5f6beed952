import { describe, expect, test } from 'vitest'
import { images } from '../../index.ts'
import {
  clientOf,
  edit,
  editForm,
  generation,
  PNG,
  refusalOf,
  VALID_FORM,
  VALID_REQUEST,
  WEBP,
} from '../../testing.ts'

const decode = (request: ReturnType<typeof generation>) =>
  images.codec.decodeRequest(request, clientOf(request).envelopes)
const CHOICE = {
  type: 'hosted',
  dialect: 'responses',
  name: 'image_generation',
  choice: { type: 'image_generation' },
}
const tool = (options: object = {}) => ({
  type: 'hosted',
  dialect: 'responses',
  name: 'image_generation',
  tool: { type: 'image_generation', ...options },
})
const image = (bytes: Buffer, mediaType: string) => ({
  type: 'image',
  source: { kind: 'data', mediaType, base64: bytes.toString('base64') },
})

describe('in the neutral form', () => {
  test('a prompt', () => {
    expect(decode(generation(VALID_REQUEST))).toEqual({
      model: 'm',
      stream: false,
      turns: [{ role: 'user', parts: [{ type: 'text', text: 'A cat' }] }],
      tools: [tool()],
      toolChoice: CHOICE,
    })
  })

  test('options of the tool, and losses of fields that it lacks', () => {
    const options = {
      size: '1x2',
      quality: 'low',
      background: 'opaque',
      output_format: 'webp',
      output_compression: 9,
      moderation: 'low',
    }
    const request = decode(
      generation({
        ...VALID_REQUEST,
        ...options,
        stream: true,
        partial_images: 2,
        n: 1,
        user: 'u',
        response_format: 'b64_json',
        style: 'vivid',
        complexity: null,
      }),
    )
    expect(request).toMatchObject({ stream: true, user: 'u' })
    expect(request.tools).toEqual([tool({ ...options, partial_images: 2 })])
    expect(request.ext).toEqual({ dialect: 'images', at: '', fields: { style: 'vivid' } })
    const url = decode(generation({ ...VALID_REQUEST, response_format: 'url', partial_images: 1 }))
    expect(url.tools).toEqual([tool()])
    expect(url.ext?.fields).toEqual({ response_format: 'url' })
  })

  test('edits as JSON', () => {
    const url = `data:image/jpeg;base64,${PNG.toString('base64')}`
    const request = decode(
      edit({
        ...VALID_REQUEST,
        images: [{ image_url: url }, { image_url: 'https://e.x' }, { file_id: 'f' }],
        mask: { file_id: 'm' },
        input_fidelity: 'high',
      }),
    )
    expect(request.turns).toEqual([
      {
        role: 'user',
        parts: [
          { type: 'text', text: 'A cat' },
          image(PNG, 'image/jpeg'),
          { type: 'image', source: { kind: 'url', url: 'https://e.x' } },
          { type: 'image', source: { kind: 'id', id: 'f', vendor: 'openai' } },
        ],
      },
    ])
    expect(request.tools).toEqual([tool({ input_fidelity: 'high', input_image_mask: { file_id: 'm' } })])
  })

  test('edits as a form, with media types from the bytes', () => {
    const request = decode(
      editForm([
        ...VALID_FORM,
        ['image[]', WEBP, 'b', 'image/png'],
        ['mask', PNG, 'm'],
        ['markup', PNG, 'k'],
        ['output_compression', '50'],
        ['size', 'auto'],
        ['stream', 'false'],
        ['safety_identifier', 's'],
        ['user', 'u'],
      ]),
    )
    expect(request).toMatchObject({ model: 'm', user: 's', stream: false })
    expect(request.turns).toEqual([
      {
        role: 'user',
        parts: [{ type: 'text', text: 'A hat' }, image(PNG, 'image/png'), image(WEBP, 'image/webp')],
      },
    ])
    const mask = { image_url: `data:image/png;base64,${PNG.toString('base64')}` }
    expect(request.tools).toEqual([tool({ size: 'auto', output_compression: 50, input_image_mask: mask })])
    expect(request.ext?.fields).toEqual({ markup: true })
  })

  test('more than one image is refused', () => {
    const refused = ['unsupported_parameter', 'n']
    expect(refusalOf(() => decode(generation({ ...VALID_REQUEST, n: 2 })))).toEqual(refused)
    expect(refusalOf(() => decode(editForm([...VALID_FORM, ['n', '2']])))).toEqual(refused)
  })
})
