import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { ephemeralKeyRing } from '../../../../store/sealing.ts'
import { DIALECTS } from '../../index.ts'
import type { Carrier } from '../neutral/types.ts'
import { createEnvelopes, mayHoldEnvelope } from './envelope.ts'

const ring = ephemeralKeyRing()
const envelopes = createEnvelopes(ring, 'owner', DIALECTS)
const text = fc.string({ unit: 'grapheme', maxLength: 40 })
const carriers: fc.Arbitrary<Carrier> = fc.oneof(
  text.map((value): Carrier => ({ dialect: 'messages', kind: 'signature', value })),
  text.map((value): Carrier => ({ dialect: 'messages', kind: 'redacted', value })),
  fc
    .tuple(text, text)
    .map(([value, id]): Carrier => ({ dialect: 'responses', kind: 'encrypted', value, id })),
  text.map((value): Carrier => ({ dialect: 'responses', kind: 'encrypted', value })),
  text.map((value): Carrier => ({ dialect: 'responses', kind: 'compaction', value })),
  text.map((value): Carrier => ({ dialect: 'chat', kind: 'details', value })),
)

describe('an envelope', () => {
  it('opens to its content, and has a format that any client field accepts', () => {
    fc.assert(
      fc.property(carriers, (carrier) => {
        const sealed = envelopes.seal(carrier)
        expect(sealed).toMatch(new RegExp(`^slc1\\.${carrier.kind}\\.[A-Za-z0-9_-]+$`))
        expect(envelopes.open(sealed)).toEqual(carrier)
      }),
    )
  })

  it('does not show its content', () => {
    const sealed = envelopes.seal({ dialect: 'messages', kind: 'signature', value: 'SIG-OF-VENDOR' })
    const inside = Buffer.from(sealed.split('.')[2] ?? '', 'base64url').toString()
    expect(sealed + inside + Buffer.from(inside, 'base64').toString('latin1')).not.toContain('SIG-OF')
  })

  it('opens only for its owner', () => {
    const sealed = envelopes.seal({ dialect: 'messages', kind: 'signature', value: 'S' })
    expect(createEnvelopes(ring, 'other', DIALECTS).open(sealed)).toBe('broken')
    expect(createEnvelopes(ephemeralKeyRing(), 'owner', DIALECTS).open(sealed)).toBe('broken')
  })

  it('does not open after any change', () => {
    const sealed = envelopes.seal({ dialect: 'responses', kind: 'encrypted', value: 'E', id: 'rs_1' })
    const begins = 'slc1.encrypted.'.length
    fc.assert(
      fc.property(fc.nat({ max: sealed.length - begins - 1 }), (at) => {
        const i = begins + at
        // Unused bits of base64 change nothing.
        if (i === sealed.length - 1) return
        const changed = `${sealed.slice(0, i)}${sealed[i] === 'A' ? 'Q' : 'A'}${sealed.slice(i + 1)}`
        expect(envelopes.open(changed)).toBe('broken')
      }),
    )
  })

  it.each([
    'slc1.',
    'slc1.signature.',
    'slc1.signature.AAAA',
    'slc1.x.e30',
    `slc1.signature.${'A'.repeat(1e6)}`,
  ])('that is forged is broken: %.30s', (made) => expect(envelopes.open(made)).toBe('broken'))

  it.each(['', 'EqQBCkgIARABGAIiQ', 'gAAAAABo', 'slc2.signature.AAAA'])('of ours it is not: %j', (foreign) =>
    expect(envelopes.open(foreign)).toBe('foreign'),
  )
})

it.each([
  ['{"signature":"slc1.signature.abc"}', true],
  ['["slc1.', true],
  ['"slc1.', true],
  ['{"content":"version 1.1.1, or slc1.x"}', false],
  ['{"content":"\\"slc1. is quoted"}', true],
  ['slc1.', false],
  ['1.', false],
  ['', false],
  [`[${'1.5,'.repeat(49)}"slc1.`, true],
  [`[${'1.5,'.repeat(50)}"slc1.`, true],
  [`[${'1.5,'.repeat(500)}"slc1.`, true],
  [`[${'1.5,'.repeat(500)}"slc`, false],
])('a body may hold an envelope if a text begins like one: %s', (body, expected) => {
  expect(mayHoldEnvelope(Buffer.from(body))).toBe(expected)
})
