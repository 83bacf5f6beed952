import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { GatewayError } from '../../../errors.ts'
import { inOnePiece } from '../../core/json/splice.ts'
import type { ParsedUpload } from '../../core/request.ts'
import { parseForm } from '../form/parse.ts'
import { imageEdits } from '../index.ts'
import type { ImagesOwn } from '../own.ts'
import {
  BOUNDARY,
  FORM_LIMITS,
  type FormEntry,
  formBody,
  GIF,
  JPEG,
  MULTIPART,
  PNG,
  refusalOf,
  WEBP,
} from '../testing.ts'

const EDITS = { model: 'up', addStreamUsage: false }
const MIB = 1024 * 1024
const TEXTS: FormEntry[] = [
  ['model', 'm'],
  ['prompt', 'A hät'],
]
const IMAGE: FormEntry = ['image', PNG, 'a.png', 'image/png']

function open(prefix: Buffer, contentType = MULTIPART, limits = FORM_LIMITS): ParsedUpload<ImagesOwn> {
  if (imageEdits.parseUpload === undefined) throw new Error('no uploads')
  return imageEdits.parseUpload(prefix, limits, { 'content-type': contentType })
}

/** The bytes that an upstream gets of a form of which the prefix has arrived. */
function pass(
  body: Buffer,
  split: number,
  chunkSize = body.length,
): { sent: Buffer; upload: ParsedUpload<ImagesOwn> } {
  const upload = open(body.subarray(0, split))
  const sent = [inOnePiece(imageEdits.byteLane.splice(upload.request, EDITS)), ...upload.first]
  for (let at = split; at < body.length; at += chunkSize) {
    sent.push(...upload.rest.push(body.subarray(at, Math.min(at + chunkSize, body.length))))
  }
  sent.push(...upload.rest.end())
  return { sent: Buffer.concat(sent), upload }
}

const boundaryOf = (upload: ParsedUpload) => upload.request.contentType?.split('boundary=')[1] ?? ''

function readable(sent: Buffer, boundary: string) {
  return parseForm(sent, boundary, 80).map(({ start, end, name, filename, contentType }) => [
    name,
    sent.toString('latin1', start, end),
    filename,
    contentType,
  ])
}

const afterFirstFile = (body: Buffer) => body.indexOf('filename="') + 60

describe('a form that is forwarded while it arrives', () => {
  test('reaches the upstream with its model and a new boundary', () => {
    const body = formBody([
      ...TEXTS,
      ['n', '2'],
      ['quality', 'low'],
      IMAGE,
      ['image[]', Buffer.concat([JPEG, Buffer.from(`\r\n--${BOUNDARY}x\r\n`)]), 'b.jpg'],
      ['mask', WEBP, 'm'],
      ['user', 'me'],
    ])
    const { sent, upload } = pass(body, afterFirstFile(body), 3)
    expect(upload.request).toMatchObject({
      head: { model: 'm', images: 2, stream: false, input: { textBytes: 6, images: 2 } },
      isUpload: true,
      headers: {},
    })
    const boundary = boundaryOf(upload)
    expect(boundary).toMatch(/^form-[0-9a-f]{48}$/)
    expect(readable(sent, boundary)).toEqual([
      ['model', 'up', undefined, undefined],
      ['prompt', 'A h\xc3\xa4t', undefined, undefined],
      ['n', '2', undefined, undefined],
      ['quality', 'low', undefined, undefined],
      ['image', PNG.toString('latin1'), 'a.png', 'image/png'],
      ['image[]', `${JPEG.toString('latin1')}\r\n--${BOUNDARY}x\r\n`, 'b.jpg', undefined],
      ['mask', WEBP.toString('latin1'), 'm', undefined],
      ['user', 'me', undefined, undefined],
    ])
  })

  test('counts as having the maximum number of images until it ends', () => {
    const body = formBody([...TEXTS, IMAGE])
    const { request, rest } = open(body)
    expect(request.head.input.images).toBe(16)
    rest.end()
    expect(request.head.input.images).toBe(1)
  })

  test('is sent without preamble and epilogue', () => {
    const body = Buffer.concat([
      Buffer.from('before\r\n'),
      formBody([...TEXTS, IMAGE]),
      Buffer.from(`\r\n--${BOUNDARY}\r\nContent-Disposition: form-data; name="model"\r\n\r\nother\r\n`),
    ])
    const { sent, upload } = pass(body, afterFirstFile(body))
    expect(sent.toString('latin1')).not.toMatch(/before|other/)
    expect(sent.toString('latin1').endsWith(`\r\n--${boundaryOf(upload)}--\r\n`)).toBe(true)
  })

  test('cannot hide a field in a file, whatever line ends the upstream accepts', () => {
    const hidden = `--${BOUNDARY}\ncontent-disposition: form-data; name="model"\n\nother\n`
    const image = Buffer.concat([PNG, Buffer.from(`\n${hidden}\r${hidden}`)])
    const { sent, upload } = pass(formBody([...TEXTS, ['image', image, 'a']]), 400)
    expect(sent.toString('latin1').split(`--${boundaryOf(upload)}`)).toHaveLength(5)
    expect(upload.request.contentType).not.toContain(BOUNDARY)
  })

  const late = (name: string) => ['request_too_large', name]
  const bad = (name: string | undefined) => ['invalid_request', name]
  test.each<[string, unknown, FormEntry[]]>([
    ['a late model', late('model'), [TEXTS[1] as FormEntry, IMAGE, ['model', 'm']]],
    ['no model', late('model'), [['prompt', 'x'], IMAGE]],
    ['no prompt', late('prompt'), [['model', 'm'], IMAGE]],
    ['a late number', late('n'), [...TEXTS, IMAGE, ['n', '1']]],
    ['a late size', late('size'), [...TEXTS, IMAGE, ['size', 'auto']]],
    ['a late stream', late('stream'), [...TEXTS, IMAGE, ['stream', 'true']]],
    ['late partial images', late('partial_images'), [...TEXTS, IMAGE, ['partial_images', '1']]],
    ['a second model', bad('model'), [...TEXTS, IMAGE, ['model', 'm']]],
    ['a second mask', bad('mask'), [...TEXTS, IMAGE, ['mask', PNG, 'm'], ['mask', PNG, 'm']]],
    ['a model as a file', bad('model'), [['model', 'm', 'f'], ['prompt', 'x'], IMAGE]],
    ['an empty model', bad('model'), [['model', ''], ['prompt', 'x'], IMAGE]],
    ['a wrong number', bad('n'), [...TEXTS, ['n', '11'], IMAGE]],
    ['a GIF', bad('image'), [...TEXTS, ['image', GIF, 'a']]],
    ['a short image', bad('mask'), [...TEXTS, IMAGE, ['mask', PNG.subarray(0, 7), 'a']]],
    ['17 images', bad('image'), [...TEXTS, ...Array<FormEntry>(17).fill(IMAGE)]],
    ['no image', bad('image'), [...TEXTS, ['mask', PNG, 'a']]],
    ['invalid UTF-8 early', bad('user'), [...TEXTS, ['user', Buffer.from([0xc3, 0x28])], IMAGE]],
    ['invalid UTF-8 late', bad('user'), [...TEXTS, IMAGE, ['user', Buffer.from([0x41, 0xc3])]]],
  ])('%s is refused, wherever it is cut', (_name, refusal, entries) => {
    const body = formBody(entries)
    expect(refusalOf(() => pass(body, body.length))).toEqual(refusal)
    expect(refusalOf(() => pass(body, afterFirstFile(body), 1))).toEqual(refusal)
  })

  test('a text that is cut into pieces', () => {
    const body = formBody([...TEXTS, IMAGE, ['user', 'ä'.repeat(50)]])
    expect(pass(body, afterFirstFile(body), 3).sent.toString()).toContain('ä'.repeat(50))
  })

  test('a quality after the files, which only the price reads', () => {
    const body = formBody([...TEXTS, IMAGE, ['quality', 'low']])
    const { sent, upload } = pass(body, afterFirstFile(body), 3)
    expect(sent.toString('latin1')).toMatch(/name="quality"\r\n\r\nlow\r\n/)
    expect(upload.request.head.imageKind).toBeUndefined()
    const twice = formBody([...TEXTS, ['quality', 'low'], IMAGE, ['quality', 'high']])
    expect(refusalOf(() => pass(twice, afterFirstFile(twice), 3))).toEqual(bad('quality'))
  })

  test('refuses texts that fill the whole prefix', () => {
    const body = formBody([...TEXTS, ['user', 'x'.repeat(5_000)], IMAGE])
    expect(refusalOf(() => open(body.subarray(0, 4_000)))).toEqual(['request_too_large', undefined])
  })

  test('refuses a form without its end', () => {
    const body = formBody([...TEXTS, IMAGE])
    const last = body.lastIndexOf(`--${BOUNDARY}--`)
    for (const length of [last + BOUNDARY.length + 3, last, last - 20]) {
      expect(refusalOf(() => pass(body.subarray(0, length), 400))).toEqual(['invalid_request', undefined])
    }
  })

  test('refuses an image of more than 50 MiB before its end', () => {
    const limit = 50 * MIB
    const body = formBody([...TEXTS, ['image', PNG, 'a']])
    const start = body.subarray(0, body.indexOf(PNG) + PNG.length)
    for (const [more, refusal] of [
      [0, undefined],
      [1, ['request_too_large', 'image']],
    ] as const) {
      const { rest } = open(start)
      const send = () => {
        for (let left = limit - PNG.length + more; left > 0; left -= MIB) {
          rest.push(Buffer.alloc(Math.min(left, MIB), 'x'))
        }
      }
      expect(refusalOf(send)).toEqual(refusal)
    }
  })

  test('refuses JSON and a form without a boundary', () => {
    expect(() => open(Buffer.from('{}'), 'application/json')).toThrow(GatewayError)
    expect(() => open(formBody([...TEXTS, IMAGE]), 'multipart/form-data')).toThrow(GatewayError)
  })
})

const entry = fc.constantFrom<FormEntry>(
  IMAGE,
  ['image[0]', WEBP, 'b'],
  ['image', GIF, 'c'],
  ['mask', PNG, 'm'],
  ['other', '\r\n--', 'f'],
  ['user', 'me'],
  ['user', Buffer.from([0xff])],
  ['prompt', 'again'],
)
test('any ordered form gives the same result as in memory', () => {
  let good = 0
  const forms = fc.tuple(fc.array(entry), fc.integer({ min: 1, max: 200 }), fc.integer({ min: 0, max: 300 }))
  const check = fc.property(forms, ([entries, chunkSize, more]) => {
    const body = formBody([...TEXTS, ...entries])
    const firstFile = entries.findIndex(([, , filename]) => filename !== undefined)
    fc.pre(firstFile >= 0)
    const split = formBody([...TEXTS, ...entries.slice(0, firstFile)]).length + 150 + more
    let held: Buffer | undefined
    let heldBoundary = ''
    const refusal = refusalOf(() => {
      const request = imageEdits.parseRequest(
        body,
        { maxDepth: 1, maxKeys: 1, form: FORM_LIMITS },
        { 'content-type': MULTIPART },
      )
      held = inOnePiece(imageEdits.byteLane.splice(request, EDITS))
      heldBoundary = request.contentType?.split('boundary=')[1] ?? ''
    })
    if (held === undefined) {
      expect(refusal).toBeDefined()
      expect(refusalOf(() => pass(body, Math.min(split, body.length), chunkSize))).toBeDefined()
      return
    }
    good++
    const { sent, upload } = pass(body, Math.min(split, body.length), chunkSize)
    expect(sent.toString('latin1').replaceAll(boundaryOf(upload), 'B')).toBe(
      held.toString('latin1').replaceAll(heldBoundary, 'B'),
    )
  })
  fc.assert(check)
  expect(good).toBeGreaterThan(0)
})
