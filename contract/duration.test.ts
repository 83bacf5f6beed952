import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { parseDuration } from './duration.ts'

describe('durations', () => {
  it.each([
    ['30s', 30_000],
    ['5m', 300_000],
    ['5ms', 5],
    ['250ms', 250],
    ['1h30m', 5_400_000],
    ['168h', 604_800_000],
    ['1h1m1s1ms', 3_661_001],
    ['1m5ms', 60_005],
    ['86s', 86_000],
  ])('reads %s', (text, ms) => {
    expect(parseDuration(text)).toBe(ms)
  })

  it.each([
    '',
    '0s',
    '1h0m',
    '030s',
    '30',
    's',
    '1.5s',
    '-1s',
    '1d',
    '1s1m',
    '1s 1ms',
    ' 1s',
    '1S',
    '1s1s',
    '300h',
    '100000s',
  ])('refuses %j', (text) => {
    expect(() => parseDuration(text)).toThrow(RangeError)
  })

  it('stays below 2^31 ms, the longest that a timer accepts', () => {
    expect(parseDuration('299h9999m99999s99999999ms')).toBeLessThan(2 ** 31)
  })

  it('adds up its parts', () => {
    const part = (max: number) => fc.option(fc.integer({ min: 1, max }), { nil: undefined })
    fc.assert(
      fc.property(part(299), part(9_999), part(99_999), part(99_999_999), (h, m, s, ms) => {
        const parts: [number | undefined, string, number][] = [
          [h, 'h', 3_600_000],
          [m, 'm', 60_000],
          [s, 's', 1_000],
          [ms, 'ms', 1],
        ]
        const given = parts.filter(([count]) => count !== undefined)
        fc.pre(given.length > 0)
        const text = given.map(([count, unit]) => `${count}${unit}`).join('')
        const total = given.reduce((sum, [count = 0, , size]) => sum + count * size, 0)
        expect(parseDuration(text)).toBe(total)
      }),
    )
  })
})
