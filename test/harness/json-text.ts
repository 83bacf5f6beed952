/** Arbitrary JSON texts, spaced and escaped in every way that the grammar allows. */
import fc from 'fast-check'

const space = fc.string({ unit: fc.constantFrom(' ', '\t', '\n', '\r'), maxLength: 3 })

/** A string literal with some characters written as escapes. */
const literal = fc
  .array(
    fc.oneof(
      fc.string({ unit: 'grapheme', maxLength: 4 }).map((s) => JSON.stringify(s).slice(1, -1)),
      fc.constantFrom(
        '\\u0041',
        '\\"',
        '\\\\',
        '\\/',
        '\\n',
        '\\\\\\"',
        '{',
        '}',
        '[',
        ',',
        ':',
        '\\ud83d\\ude00',
      ),
    ),
    { maxLength: 6 },
  )
  .map((parts) => `"${parts.join('')}"`)

/** JSON text of any value, with white space wherever it is allowed. */
const { value: valueText } = fc.letrec<{ value: string }>((tie) => ({
  value: fc.oneof(
    { depthSize: 'small', withCrossShrink: true },
    literal,
    fc.constantFrom('null', 'true', 'false', '0', '-1.5e+3', '[]', '{}', '12345678901234567890'),
    fc
      .array(fc.tuple(space, tie('value'), space), { maxLength: 3 })
      .map((items) => `[${items.map((i) => i.join('')).join(',')}]`),
    fc
      .array(fc.tuple(space, literal, space, space, tie('value'), space), { maxLength: 3 })
      .map((members) => `{${members.map(([a, k, b, c, v, d]) => `${a}${k}${b}:${c}${v}${d}`).join(',')}}`),
  ),
}))

/** JSON text of an object, and its members as they are written: keys with their quotes. */
export const objectText = fc
  .tuple(space, fc.array(fc.tuple(space, literal, space, space, valueText, space), { maxLength: 6 }), space)
  .map(([before, members, after]) => ({
    text: `${before}{${members.map(([a, k, b, c, v, d]) => `${a}${k}${b}:${c}${v}${d}`).join(',')}}${after}`,
    members: members.map(([, key, , , value]) => [key, value]),
  }))
