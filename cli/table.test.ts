import fc from 'fast-check'
import { describe, expect, it, test } from 'vitest'
import { plain, Table, table } from './table.ts'

describe('a table', () => {
  it('aligns its columns and marks empty cells', () => {
    expect(
      table(
        ['name', 'ready'],
        [
          ['a-long-name', true],
          ['b', undefined],
          ['', false],
        ],
        undefined,
      ),
    ).toBe(['NAME         READY', 'a-long-name  yes', 'b            -', '-            no'].join('\n'))
  })

  it('without a screen has each row on one line, with nothing cut', () => {
    const [, row = ''] = table(['id', 'code'], [['i'.repeat(300), 'c'.repeat(50)]], undefined).split('\n')
    expect(row).toBe(`${'i'.repeat(300)}  ${'c'.repeat(50)}`)
  })

  it('wraps columns and long cells, the same way in every row', () => {
    const reason = 'upstream failed because of many words that say why'
    const rows = [
      ['req_1', 200, undefined],
      ['req_2', 502, reason],
    ]
    expect(table(['id', 'status', 'reason'], rows, 40).split('\n')).toEqual([
      'ID     STATUS',
      '    REASON',
      'req_1  200',
      'req_2  502',
      '    upstream failed because of many',
      '    words that say why',
    ])
  })

  it('keeps its columns as it grows', () => {
    const growing = new Table(['id', 'ms'], undefined)
    expect(growing.lines([['long-name', 1]])).toBe('ID         MS\nlong-name  1')
    expect(growing.lines([['b', 2]])).toBe('b          2')
  })

  test('no line is wider than the screen, and no cell is lost', () => {
    const solid = (text: string) => text.replace(/\s/g, '')
    fc.assert(
      fc.property(
        fc.array(fc.array(fc.string({ maxLength: 200 }), { minLength: 8, maxLength: 8 }), { maxLength: 5 }),
        fc.integer({ min: 40, max: 200 }),
        (rows, width) => {
          const text = table(['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h'], rows, width)
          for (const line of text.split('\n')) expect([...line].length).toBeLessThanOrEqual(width)
          for (const row of rows) for (const cell of row) expect(solid(text)).toContain(solid(plain(cell)))
        },
      ),
    )
  })

  it('lets no cell move the cursor of a terminal', () => {
    expect(table(['model'], [['a\u001b[2J\nb\u202e']], undefined)).toBe('MODEL\na?[2J?b?')
    expect(plain('\u0007\u009b')).toBe('??')
  })
})
