import { expect, it } from 'vitest'
import { isClosedSchema } from './closed-schema.ts'

const open = { type: 'object', properties: { a: { type: 'string' } }, required: ['a'] }
const closed = { ...open, additionalProperties: false }
const holding = (name: string, schema: object) => ({
  type: 'object',
  properties: { [name]: schema },
  required: [name],
  additionalProperties: false,
})

it.each<[string, object]>([
  ['a text', { type: 'string' }],
  ['a closed object', closed],
  ['a closed object in another one', holding('x', closed)],
  ['values that look like schemas', { type: 'string', default: open, enum: [open], examples: [open] }],
  ['an empty object', { type: 'object', additionalProperties: false }],
])('%s is closed', (_, schema) => {
  expect(isClosedSchema(schema)).toBe(true)
})

it.each<[string, object]>([
  ['an object', open],
  ['a property that may be absent', { ...closed, required: [] }],
  ['an open object in a closed one', holding('x', open)],
  ['an open object in a property with the name of a keyword', holding('default', open)],
  ['an open item', { type: 'array', items: open }],
  ['an open choice', { anyOf: [closed, open] }],
  ['an open definition', { $defs: { required: open } }],
  ['properties without a type', { properties: { a: {} } }],
])('%s is not closed', (_, schema) => {
  expect(isClosedSchema(schema)).toBe(false)
})
