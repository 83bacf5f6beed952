/** Limits of forms, both in memory and forwarded while they arrive. */
import { describe, expect, test } from 'vitest'
import { GatewayError } from '../../../errors.ts'
import type { FormLimits } from '../../core/request.ts'
import { imageEdits } from '../index.ts'
import { type FormEntry, formBody, MULTIPART, PNG } from '../testing.ts'

const HEADERS = { 'content-type': MULTIPART }
const ROOM: FormLimits = { maxParts: 80, maxFiles: 17, maxFileBytes: 1_000, maxFieldBytes: 1_000 }
const TEXTS: FormEntry[] = [
  ['model', 'm'],
  ['prompt', 'A hat'],
]
const image = (size: number, name = 'image'): FormEntry => [
  name,
  Buffer.concat([PNG, Buffer.alloc(size)], size),
  'a.png',
]

function hold(entries: FormEntry[], limits: FormLimits): void {
  imageEdits.parseRequest(formBody(entries), { maxDepth: 1, maxKeys: 1, form: limits }, HEADERS)
}

/** Pushes the texts and the first part's head at once, then single bytes. */
function passOn(entries: FormEntry[], limits: FormLimits): void {
  const body = formBody(entries)
  const split = body.indexOf('filename="') + 60
  const rest = imageEdits.parseUpload?.(body.subarray(0, split), limits, HEADERS).rest
  for (let at = split; at < body.length; at++) rest?.push(body.subarray(at, at + 1))
  rest?.end()
}

function refusalOf(run: () => void): [code: string, param: string | undefined, message: string] | undefined {
  try {
    run()
  } catch (error) {
    if (error instanceof GatewayError) return [error.code, error.param, error.message]
    throw error
  }
  return undefined
}

describe.each([
  ['held', hold],
  ['forwarded', passOn],
] as const)('a form that is %s', (_way, take) => {
  test('has at most the allowed number of parts', () => {
    const entries: FormEntry[] = [...TEXTS, image(50), ['user', 'u']]
    expect(refusalOf(() => take(entries, { ...ROOM, maxParts: 4 }))).toBeUndefined()
    const refusal = ['invalid_request', undefined, 'The form has more than 3 parts.']
    expect(refusalOf(() => take(entries, { ...ROOM, maxParts: 3 }))).toEqual(refusal)
  })

  test('has at most the allowed number of files, of any kind', () => {
    const entries: FormEntry[] = [...TEXTS, image(50), image(50, 'mask'), ['x', 'note', 'x.txt']]
    expect(refusalOf(() => take(entries, { ...ROOM, maxFiles: 3 }))).toBeUndefined()
    expect(refusalOf(() => take(entries, { ...ROOM, maxFiles: 2 }))).toEqual([
      'invalid_request',
      'x',
      'x is one file too many: a form may have 2.',
    ])
  })

  test.each<[string, (size: number) => FormEntry[]]>([
    ['image', (size) => [image(size)]],
    ['image[]', (size) => [image(50), image(size, 'image[]')]],
    ['mask', (size) => [image(50), image(size, 'mask')]],
    ['other', (size) => [image(50), ['other', Buffer.alloc(size), 'o.bin']]],
  ])('has no file that is too large: %s', (field, entries) => {
    expect(refusalOf(() => take([...TEXTS, ...entries(1_000)], ROOM))).toBeUndefined()
    const refusal = ['request_too_large', field, `${field} must have at most 1000 bytes.`]
    expect(refusalOf(() => take([...TEXTS, ...entries(1_001)], ROOM))).toEqual(refusal)
  })

  test.each<[string, (text: string) => FormEntry[]]>([
    ['prompt', (text) => [['model', 'm'], ['prompt', text], image(50)]],
    ['user', (text) => [...TEXTS, image(50), ['user', text]]],
  ])('has no text that is too large: %s', (field, entries) => {
    expect(refusalOf(() => take(entries('é'.repeat(500)), ROOM))).toBeUndefined()
    const refusal = ['request_too_large', field, `${field} must have at most 1000 bytes.`]
    expect(refusalOf(() => take(entries(`${'é'.repeat(500)}x`), ROOM))).toEqual(refusal)
  })

  test('does not repeat the client’s names in errors', () => {
    const entries: FormEntry[] = [...TEXTS, image(50), ['a<b>c', 'x'.repeat(2_000)]]
    const message = refusalOf(() => take(entries, ROOM))?.[2]
    expect(message).toBe('A field of the form must have at most 1000 bytes.')
  })
})

test('forms are refused where no limits are set', () => {
  const run = () =>
    imageEdits.parseRequest(formBody([...TEXTS, image(50)]), { maxDepth: 1, maxKeys: 1 }, HEADERS)
  expect(refusalOf(run)?.[0]).toBe('unsupported_media_type')
})
