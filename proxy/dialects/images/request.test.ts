import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { inOnePiece } from '../core/json/splice.ts'
import { readBoundary } from './form/boundary.ts'
import { parseForm } from './form/parse.ts'
import { imageEdits, images } from './index.ts'
import {
  edit,
  editForm,
  type FormEntry,
  formBody,
  GIF,
  generation,
  JPEG,
  LIMITS,
  MULTIPART,
  PNG,
  refusalOf,
  VALID_FORM,
  VALID_REQUEST,
  WEBP,
} from './testing.ts'

const INPUT = { audioBytes: 0, fileBytes: 0, tools: 0 }
const EDITS = { model: 'up', addStreamUsage: false }
const url = (bytes: Buffer, type = 'image/png') => `data:${type};base64,${bytes.toString('base64')}`

describe('generations', () => {
  test('the head', () => {
    const full = {
      ...VALID_REQUEST,
      prompt: 'é',
      n: 3,
      size: '1024x512',
      quality: 'high',
      stream: true,
      partial_images: 3,
      style: 'x',
    }
    expect(generation(full).head).toEqual({
      model: 'm',
      stream: true,
      images: 3,
      imageKind: { size: '1024x512', quality: 'high' },
      choices: 1,
      wantsStreamUsage: false,
      input: { ...INPUT, textBytes: 2, images: 0 },
    })
    const nulls = { ...VALID_REQUEST, n: null, size: null, stream: null, partial_images: null }
    expect(generation(nulls).head).toMatchObject({ images: 1, stream: false })
    expect(generation({ ...VALID_REQUEST, n: 10, size: 'auto', partial_images: 0 }).head).toMatchObject({
      images: 10,
    })
    expect(generation({ ...VALID_REQUEST, size: '99999x1' }).head).toMatchObject({ images: 1 })
  })

  test.each<[string, object]>([
    ['model', { prompt: 'x' }],
    ['model', { ...VALID_REQUEST, model: '' }],
    ['prompt', { model: 'm' }],
    ['prompt', { ...VALID_REQUEST, prompt: '' }],
    ['prompt', { ...VALID_REQUEST, prompt: ['x'] }],
    ['n', { ...VALID_REQUEST, n: 0 }],
    ['n', { ...VALID_REQUEST, n: 11 }],
    ['n', { ...VALID_REQUEST, n: 1.5 }],
    ['n', { ...VALID_REQUEST, n: '1' }],
    ['size', { ...VALID_REQUEST, size: '1024' }],
    ['size', { ...VALID_REQUEST, size: '0x1' }],
    ['size', { ...VALID_REQUEST, size: '1x100000' }],
    ['size', { ...VALID_REQUEST, size: '1x1x' }],
    ['stream', { ...VALID_REQUEST, stream: 'true' }],
    ['partial_images', { ...VALID_REQUEST, partial_images: 4 }],
    ['partial_images', { ...VALID_REQUEST, partial_images: -1 }],
  ])('%s is wrong in %j', (param, body) => {
    expect(refusalOf(() => generation(body))).toEqual(['invalid_request', param])
  })

  test('refuses repeated keys that the gateway reads', () => {
    const body = Buffer.from('{"model":"m","prompt":"x","n":1,"n":10}')
    expect(refusalOf(() => images.parseRequest(body, LIMITS, {}))).toEqual(['invalid_request', 'n'])
  })

  test('changes only the model', () => {
    const body = Buffer.from('{ "odd":1e400,"model" : "m","prompt":"x" }')
    const request = images.parseRequest(body, LIMITS, {})
    expect(request.contentType).toBeUndefined()
    expect(images.byteLane.splice(request, EDITS).toString()).toBe(
      '{ "odd":1e400,"model" : "up","prompt":"x" }',
    )
  })
})

describe('edits as JSON', () => {
  const image = { image_url: url(PNG) }
  test('the head', () => {
    const given = [
      image,
      { image_url: url(JPEG, 'image/png') },
      { image_url: 'https://e.x/1' },
      { file_id: 'f' },
    ]
    const { head, contentType } = edit({ ...VALID_REQUEST, images: given, mask: image })
    expect(head).toMatchObject({ images: 1, input: { ...INPUT, textBytes: 5, images: 4 } })
    expect(contentType).toBeUndefined()
  })

  test.each<[string, object]>([
    ['images', {}],
    ['images', { images: [] }],
    ['images', { images: image }],
    ['images', { images: Array.from({ length: 17 }, () => image) }],
    ['images[1]', { images: [image, 'x'] }],
    ['images[0].image_url', { images: [{}] }],
    ['images[0].image_url', { images: [{ image_url: '' }] }],
    ['images[0].image_url', { images: [{ image_url: 'data:image/png;base64' }] }],
    ['images[0].image_url', { images: [{ image_url: 'data:image/png,abc' }] }],
    ['images[0].image_url', { images: [{ image_url: url(GIF) }] }],
    ['mask.image_url', { images: [image], mask: { image_url: url(GIF) } }],
    ['prompt', { images: [image], prompt: '' }],
  ])('%s is wrong in %j', (param, fields) => {
    expect(refusalOf(() => edit({ ...VALID_REQUEST, ...fields }))).toEqual(['invalid_request', param])
  })

  test('refuses an image of more than 50 MiB', () => {
    const large = url(Buffer.concat([PNG, Buffer.alloc(50 * 1024 * 1024)]))
    expect(refusalOf(() => edit({ ...VALID_REQUEST, images: [{ image_url: large }] }))).toEqual([
      'request_too_large',
      'images[0].image_url',
    ])
  })
})

describe('edits as a form', () => {
  test('the head', () => {
    const request = editForm([
      ['image[]', PNG, 'a.png', 'image/gif'],
      ['n', '2'],
      ['image[0]', WEBP, 'b'],
      ['stream', 'true'],
      ['image', JPEG],
      ['size', '10x20'],
      ['mask', PNG, 'm.png'],
      ['partial_images', '1'],
      ['prompt', 'é'],
      ['model', 'm'],
      ['markup', JPEG, 'm.jpg'],
    ])
    expect(request.head).toEqual({
      model: 'm',
      stream: true,
      images: 2,
      imageKind: { size: '10x20' },
      choices: 1,
      wantsStreamUsage: false,
      input: { ...INPUT, textBytes: 2, images: 3 },
    })
  })

  const without = (name: string) => VALID_FORM.filter(([given]) => given !== name)
  const cases: [string, FormEntry[]][] = [
    ['model', without('model')],
    ['model', [...VALID_FORM, ['model', 'm']]],
    ['model', [...without('model'), ['model', 'm', 'a.txt']]],
    ['prompt', without('prompt')],
    ['prompt', [...VALID_FORM, ['prompt', 'x']]],
    ['prompt', [...without('prompt'), ['prompt', Buffer.from([0xff])]]],
    ['image', without('image')],
    ['image', [...without('image'), ['image', GIF, 'a.png', 'image/png']]],
    ['image[]', [...VALID_FORM, ['image[]', '', 'a.png', 'image/png']]],
    ['image', [...VALID_FORM, ...Array.from({ length: 16 }, (): FormEntry => ['image', PNG, 'a'])]],
    ['mask', [...VALID_FORM, ['mask', 'x', 'm.png']]],
    ['mask', [...VALID_FORM, ['mask', PNG, 'm'], ['mask', PNG, 'm']]],
    ['n', [...VALID_FORM, ['n', '11']]],
    ['n', [...VALID_FORM, ['n', '']]],
    ['n', [...VALID_FORM, ['n', '1e0']]],
    ['stream', [...VALID_FORM, ['stream', '1']]],
    ['size', [...VALID_FORM, ['size', 'big']]],
    ['partial_images', [...VALID_FORM, ['partial_images', '4']]],
  ]
  test.each(cases)('%s is wrong (%#)', (param, entries) => {
    expect(refusalOf(() => editForm(entries))).toEqual(['invalid_request', param])
  })

  test('accepts 16 images', () => {
    const more = Array.from({ length: 15 }, (): FormEntry => ['image[]', PNG, 'a'])
    expect(editForm([...VALID_FORM, ...more]).head.input.images).toBe(16)
  })

  test('refuses an image of more than 50 MiB', () => {
    const large = Buffer.concat([PNG, Buffer.alloc(50 * 1024 * 1024)])
    const entries: FormEntry[] = [...without('image'), ['image', large, 'a.png']]
    expect(refusalOf(() => editForm(entries))).toEqual(['request_too_large', 'image'])
  })

  test('refuses a content type without a boundary', () => {
    const parse = () =>
      imageEdits.parseRequest(formBody(VALID_FORM), LIMITS, { 'content-type': 'multipart/form-data' })
    expect(refusalOf(parse)).toEqual(['invalid_request', undefined])
  })

  test('is sent with a new boundary and another model, otherwise unchanged', () => {
    const entries: FormEntry[] = [
      ['strange[field]', 'é\r\n--X'],
      ['model', 'm'],
      ['image[]', PNG, 'a "1".png', 'image/gif'],
      ['prompt', 'x'],
      ['strange[field]', Buffer.from([0]), 'blob', 'application/octet-stream'],
    ]
    const body = formBody(entries)
    const request = imageEdits.parseRequest(body, LIMITS, { 'content-type': MULTIPART })
    const boundary = readBoundary(request.contentType ?? '')
    const sent = inOnePiece(imageEdits.byteLane.splice(request, EDITS))
    expect(request.contentType).not.toContain('X-BOUNDARY')
    expect(sent.toString('latin1')).not.toContain('X-BOUNDARY')
    const parts = parseForm(sent, boundary, 80).map(({ start, end, ...head }) => [
      ...Object.values(head),
      sent.toString('utf8', start, end),
    ])
    expect(parts).toEqual([
      ['strange[field]', 'é\r\n--X'],
      ['model', 'up'],
      ['image[]', 'a %221%22.png', 'image/gif', PNG.toString()],
      ['prompt', 'x'],
      ['strange[field]', 'blob', 'application/octet-stream', '\0'],
    ])
    // A copy of the request has the same form.
    expect(imageEdits.byteLane.splice({ ...request }, EDITS)).toEqual(sent)
  })

  test('may have its parts in any order', () => {
    const entries: FormEntry[] = [...VALID_FORM, ['n', '2'], ['image[]', WEBP, 'b'], ['user', 'u']]
    fc.assert(
      fc.property(fc.shuffledSubarray(entries, { minLength: entries.length }), (shuffled) => {
        expect(editForm(shuffled).head).toEqual(editForm(entries).head)
      }),
    )
  })
})
