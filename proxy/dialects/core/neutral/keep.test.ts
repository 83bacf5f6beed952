import { expect, it } from 'vitest'
import { inside, keep } from './keep.ts'

const PLACE = { dialect: 'chat', at: 'messages' } as const

it('keeps untyped fields that are not empty', () => {
  const object = { role: 'user', mood: 'good', no: null, empty: '', none: [], zero: 0, off: false }
  expect(keep(PLACE, object, ['role'])).toEqual({
    ext: { ...PLACE, fields: { mood: 'good', zero: 0, off: false } },
  })
  expect(keep(PLACE, { role: 'user', no: null }, ['role'])).toEqual({})
})

it('keeps fields of inner objects by their dotted names', () => {
  const more = inside('function', { name: 'f', lazy: true }, ['name'])
  expect(keep(PLACE, { function: {} }, ['function'], more)).toEqual({
    ext: { ...PLACE, fields: { 'function.lazy': true } },
  })
  expect(inside('function', 'f', [])).toEqual({})
})

it('keeps a field of any name', () => {
  const object = JSON.parse('{"__proto__":{"a":1},"constructor":2}')
  expect(Object.keys(keep(PLACE, object, []).ext?.fields ?? {})).toEqual(['__proto__', 'constructor'])
})
