import fc from 'fast-check'
import { describe, expect, it, test } from 'vitest'
import { plain, table } from './table.ts'

describe('a table', () => {
  it('aligns its columns and marks what is empty', () => {
    expect(
      table(
        ['name', 'ready'],
        [
          ['a-long-name', true],
          ['b', undefined],
          ['', false],
        ],
      ),
    ).toBe(['NAME         READY', 'a-long-name  yes', 'b            -', '-            no'].join('\n'))
  })

  it('cuts the widest columns, and never those that must stay whole', () => {
    const id = 'i'.repeat(60)
    const [, row = ''] = table(['id', 'code', 'model'], [[id, 'short', 'm'.repeat(90)]], ['id']).split('\n')
    expect(row).toMatch(new RegExp(`^${id}  short  m+…$`))
    expect(row).toHaveLength(120)
  })

  test('no row is wider than 120 columns, whatever is in it', () => {
    fc.assert(
      fc.property(
        fc.array(fc.array(fc.string({ maxLength: 200 }), { minLength: 8, maxLength: 8 }), { maxLength: 5 }),
        (rows) => {
          const lines = table(['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h'], rows).split('\n')
          expect(lines).toHaveLength(rows.length + 1)
          for (const line of lines) expect([...line].length).toBeLessThanOrEqual(120)
        },
      ),
    )
  })

  it('lets no cell move the cursor of a terminal', () => {
    expect(table(['model'], [['a\u001b[2J\nb\u202e']])).toBe('MODEL\na?[2J?b?')
    expect(plain('\u0007\u009b')).toBe('??')
  })
})
