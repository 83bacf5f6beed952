/** The bounds of a form, of one that is held and of one that is passed on while it comes. */
import { describe, expect, test } from 'vitest'
import { GatewayError } from '../../../errors.ts'
import type { FormLimits } from '../../core/dialect.ts'
import { imageEdits } from '../index.ts'
import { type FormEntry, formBody, MULTIPART, PNG } from '../testing.ts'

const HEADERS = { 'content-type': MULTIPART }
const ROOM: FormLimits = { maxParts: 80, maxFiles: 17, maxFileBytes: 1_000, maxFieldBytes: 1_000 }
const TEXTS: FormEntry[] = [
  ['model', 'm'],
  ['prompt', 'A hat'],
]
const picture = (size: number, name = 'image'): FormEntry => [
  name,
  Buffer.concat([PNG, Buffer.alloc(size)], size),
  'a.png',
]

function hold(entries: FormEntry[], limits: FormLimits): void {
  imageEdits.parseRequest(formBody(entries), { maxDepth: 1, maxKeys: 1, form: limits }, HEADERS)
}

/** The texts and the first part's head come first, the rest byte by byte. */
function passOn(entries: FormEntry[], limits: FormLimits): void {
  const body = formBody(entries)
  const split = body.indexOf('filename="') + 60
  const rest = imageEdits.parseUpload?.(body.subarray(0, split), limits, HEADERS).rest
  for (let at = split; at < body.length; at++) rest?.push(body.subarray(at, at + 1))
  rest?.end()
}

function told(run: () => void): [code: string, param: string | undefined, message: string] | undefined {
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
  ['passed on', passOn],
] as const)('a form that is %s', (_way, take) => {
  test('has as many parts as are allowed', () => {
    const entries: FormEntry[] = [...TEXTS, picture(50), ['user', 'u']]
    expect(told(() => take(entries, { ...ROOM, maxParts: 4 }))).toBeUndefined()
    const refusal = ['invalid_request', undefined, 'The form has more than 3 parts.']
    expect(told(() => take(entries, { ...ROOM, maxParts: 3 }))).toEqual(refusal)
  })

  test('has as many files as are allowed, whatever they are', () => {
    const entries: FormEntry[] = [...TEXTS, picture(50), picture(50, 'mask'), ['x', 'note', 'x.txt']]
    expect(told(() => take(entries, { ...ROOM, maxFiles: 3 }))).toBeUndefined()
    expect(told(() => take(entries, { ...ROOM, maxFiles: 2 }))).toEqual([
      'invalid_request',
      'x',
      'x is one file too many: a form may have 2.',
    ])
  })

  test.each<[string, (size: number) => FormEntry[]]>([
    ['image', (size) => [picture(size)]],
    ['image[]', (size) => [picture(50), picture(size, 'image[]')]],
    ['mask', (size) => [picture(50), picture(size, 'mask')]],
    ['other', (size) => [picture(50), ['other', Buffer.alloc(size), 'o.bin']]],
  ])('has no larger file than is allowed: %s', (field, entries) => {
    expect(told(() => take([...TEXTS, ...entries(1_000)], ROOM))).toBeUndefined()
    const refusal = ['request_too_large', field, `${field} must have at most 1000 bytes.`]
    expect(told(() => take([...TEXTS, ...entries(1_001)], ROOM))).toEqual(refusal)
  })

  test.each<[string, (text: string) => FormEntry[]]>([
    ['prompt', (text) => [['model', 'm'], ['prompt', text], picture(50)]],
    ['user', (text) => [...TEXTS, picture(50), ['user', text]]],
  ])('has no larger text than is allowed: %s', (field, entries) => {
    expect(told(() => take(entries('é'.repeat(500)), ROOM))).toBeUndefined()
    const refusal = ['request_too_large', field, `${field} must have at most 1000 bytes.`]
    expect(told(() => take(entries(`${'é'.repeat(500)}x`), ROOM))).toEqual(refusal)
  })

  test('is told of no name that a client made up', () => {
    const entries: FormEntry[] = [...TEXTS, picture(50), ['a<b>c', 'x'.repeat(2_000)]]
    const message = told(() => take(entries, ROOM))?.[2]
    expect(message).toBe('A field of the form must have at most 1000 bytes.')
  })
})

test('no form is taken where nobody said how large', () => {
  const run = () =>
    imageEdits.parseRequest(formBody([...TEXTS, picture(50)]), { maxDepth: 1, maxKeys: 1 }, HEADERS)
  expect(told(run)?.[0]).toBe('unsupported_media_type')
})
