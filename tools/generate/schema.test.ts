import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { crdSchema } from './schema.ts'

const text = () => z.string().max(9)
const described = <S extends z.ZodType>(schema: S) => schema.meta({ description: 'A field.' })
const convert = (field: z.ZodType) => crdSchema('Thing.spec', z.strictObject({ field: described(field) }))

describe('a schema', () => {
  it('keeps types, bounds, defaults and list keys, and stays open', () => {
    const schema = z.strictObject({
      name: described(text().min(1).regex(/^a+$/)),
      level: described(z.int().min(1).max(5).default(3)),
      tags: described(z.record(z.string(), text()).optional()).meta({
        description: 'Tags.',
        maxProperties: 4,
      }),
      parts: described(z.array(z.strictObject({ on: described(z.boolean().optional()) })).max(2)),
    })
    expect(crdSchema('Thing.spec', schema)).toEqual({
      type: 'object',
      required: ['name', 'parts'],
      properties: {
        name: { type: 'string', minLength: 1, maxLength: 9, pattern: '^a+$', description: 'A field.' },
        level: { type: 'integer', minimum: 1, maximum: 5, default: 3, description: 'A field.' },
        tags: {
          type: 'object',
          maxProperties: 4,
          additionalProperties: { type: 'string', maxLength: 9 },
          description: 'Tags.',
        },
        parts: {
          type: 'array',
          maxItems: 2,
          description: 'A field.',
          items: { type: 'object', properties: { on: { type: 'boolean', description: 'A field.' } } },
        },
      },
    })
  })

  it.each([
    ['a union', z.union([text(), z.boolean()]), /Thing\.spec\.field: union/],
    ['a nullable', text().nullable(), /Thing\.spec\.field: nullable/],
    [
      'a refinement',
      text().refine((value) => value !== 'x'),
      /Thing\.spec\.field: a custom check would be lost/,
    ],
    ['a trim', text().trim(), /Thing\.spec\.field: a overwrite check would be lost/],
    ['a transform', text().transform(Number), /Thing\.spec\.field: (pipe|transform)/],
    ['anything', z.unknown(), /Thing\.spec\.field: unknown/],
    ['a lazy schema', z.lazy(text), /Thing\.spec\.field: lazy/],
    [
      'an id, which becomes a reference',
      text().meta({ id: 'Shared' }),
      /Thing\.spec\.field.*: a CRD cannot express this/,
    ],
    [
      'a refinement in a list',
      z.array(text().refine(Boolean)).max(2),
      /Thing\.spec\.field\[\]: a custom check/,
    ],
    ['an unknown keyword', text().meta({ 'x-other': 1 }), /Thing\.spec\.field: a CRD cannot express this/],
    ['a number that is no integer', z.number(), /Thing\.spec\.field\.type: a CRD cannot express this/],
    ['checked map keys', z.record(text(), text()).meta({ maxProperties: 2 }), /keys of a map would be lost/],
    ['an unbounded text', z.string(), /Thing\.spec\.field: is a text without a maximum/],
    ['an unbounded list', z.array(text()), /Thing\.spec\.field: is a list without a maximum/],
    ['an unbounded map', z.record(z.string(), text()), /Thing\.spec\.field: is a map without/],
    ['an unbounded text in a list', z.array(z.string()).max(2), /Thing\.spec\.field\[\]: is a text without/],
    ['a lookahead', text().regex(/^(?!x)/), /Thing\.spec\.field: .*regular expressions/],
    ['a space outside of brackets', text().regex(/^\s$/), /Thing\.spec\.field: .*regular expressions/],
    ['a back reference', text().regex(/(a)\1/), /Thing\.spec\.field: .*regular expressions/],
  ])('with %s is refused', (_, field, message) => {
    expect(() => convert(field)).toThrow(message)
  })

  it('turns a pattern with a message into a rule with that message', () => {
    const rule = (pattern: string, message: string) => ({
      ...{ type: 'string', maxLength: 9, description: 'A field.' },
      'x-kubernetes-validations': [{ rule: `self.matches(${pattern})`, message }],
    })
    expect(convert(text().regex(/^"\.$/, 'must be odd').optional()).properties?.field).toEqual(
      rule('"^\\"\\\\.$"', 'must be odd'),
    )
    const instant = z.iso.datetime({ error: 'must be an instant' }).max(9)
    expect(convert(instant).properties?.field).toEqual(
      rule(JSON.stringify(instant.def.pattern?.source), 'must be an instant'),
    )
    expect(() => convert(text().regex(/^(?!x)/, 'must be none'))).toThrow(/regular expressions/)
  })

  it('without a description of a field is refused', () => {
    const schema = z.strictObject({ outer: described(z.strictObject({ inner: text() })) })
    expect(() => crdSchema('Thing.spec', schema)).toThrow('Thing.spec.outer.inner: has no description')
  })
})
