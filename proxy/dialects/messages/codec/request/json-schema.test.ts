import { expect, test } from 'vitest'
import { adaptSchema } from './json-schema.ts'

const CLOSED = { additionalProperties: false }

test('a schema with supported keywords stays unchanged', () => {
  const schema = {
    type: 'object',
    properties: {
      a: { type: 'string', format: 'date-time', description: 'd' },
      b: { type: 'array', items: { anyOf: [{ type: 'null' }, { $ref: '#/$defs/c' }] }, minItems: 1 },
      minimum: { enum: [1, null], default: 1 },
    },
    required: ['a'],
    ...CLOSED,
    $defs: { c: { type: 'object', properties: {}, ...CLOSED } },
  }
  expect(adaptSchema(schema)).toEqual({ schema, changed: false })
})

test('other constraints move into the description', () => {
  const schema = {
    type: 'object',
    ...CLOSED,
    properties: {
      n: { type: 'integer', minimum: 1, maximum: 5, description: 'How many' },
      s: { type: 'string', format: 'iban', minLength: 3, pattern: '^a' },
      l: { type: 'array', items: { type: 'number', multipleOf: 2 }, minItems: 2 },
    },
  }
  expect(adaptSchema(schema)).toEqual({
    changed: true,
    schema: {
      type: 'object',
      ...CLOSED,
      properties: {
        n: { type: 'integer', description: 'How many\n\n{minimum: 1, maximum: 5}' },
        s: { type: 'string', description: '{format: "iban", minLength: 3, pattern: "^a"}' },
        l: {
          type: 'array',
          items: { type: 'number', description: '{multipleOf: 2}' },
          description: '{minItems: 2}',
        },
      },
    },
  })
})

test.each([
  [{ type: 'object' }, { type: 'object', ...CLOSED }],
  [
    { type: ['object', 'null'], additionalProperties: true },
    { type: ['object', 'null'], ...CLOSED },
  ],
  [{ $defs: { a: { type: 'object' } } }, { $defs: { a: { type: 'object', ...CLOSED } } }],
  [{ allOf: [{ type: 'object' }] }, { allOf: [{ type: 'object', ...CLOSED }] }],
  [{ oneOf: [{ type: 'object' }, true] }, { anyOf: [{ type: 'object', ...CLOSED }, true] }],
])('%j gets closed', (schema, expected) => {
  expect(adaptSchema(schema)).toEqual({ schema: expected, changed: true })
})

test.each([
  [
    { type: 'object', properties: { a: { properties: {} } } },
    { type: 'object', properties: { a: { properties: {}, ...CLOSED } }, ...CLOSED },
  ],
  [{ type: 'string', $schema: 'x' }, { type: 'string' }],
])('%j still allows every answer', (schema, expected) => {
  expect(adaptSchema(schema)).toEqual({ schema: expected, changed: false })
})

test('the client’s schema is not changed', () => {
  const schema = { type: 'object', properties: { a: { type: 'object', minLength: 1 } } }
  const before = structuredClone(schema)
  adaptSchema(schema)
  expect(schema).toEqual(before)
})
