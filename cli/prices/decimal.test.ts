import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { parseDollars } from '../../contract/money.ts'
import { asPrice, decimalOf, decimalText, quotient, shifted } from './decimal.ts'

const read = (text: string) => {
  const value = decimalOf(text)
  if (value === undefined) throw new Error(`${text} is no number`)
  return value
}
const perMillion = (text: string) => asPrice(shifted(read(text), 6))

describe('a price per token', () => {
  it.each([
    ['2.5e-06', '2.5'],
    ['1.25E-7', '0.125'],
    ['0.000003', '3'],
    ['0.0', '0'],
    ['3e-05', '30'],
    ['5.46875e-07', '0.546875'],
    ['1.5e1', '15000000'],
    ['1', '1000000'],
  ])('%s is %s per million', (given, expected) => {
    expect(perMillion(given)).toEqual({ text: expected, exact: true })
  })

  it('with too many decimals is rounded up', () => {
    expect(perMillion('1.3333333333333333e-07')).toEqual({ text: '0.133333334', exact: false })
    expect(perMillion('2.9999999999999997e-06')).toEqual({ text: '3', exact: false })
    expect(perMillion('1e-16')).toEqual({ text: '0.000000001', exact: false })
  })

  it('is exact per million, however it is written', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 0, max: 9_000_000_000_000 }),
        fc.integer({ min: 0, max: 12 }),
        (nanos, shift) => {
          // nanos is the price per million in nano-dollars: per token it is nanos × 10^-15.
          const plain = nanos.toString().padStart(16, '0')
          const fixed = `${plain.slice(0, -15)}.${plain.slice(-15)}`
          const scientific = `${nanos}${'0'.repeat(shift)}e-${15 + shift}`
          for (const text of [fixed, scientific]) {
            const price = perMillion(text)
            expect(price.exact).toBe(true)
            expect(parseDollars(price.text)).toBe(nanos)
          }
        },
      ),
    )
  })
})

it.each(['-1', '1e', '.5', '1.', 'NaN', '', '0x10', '1e-9999', ' 1'])('%j is no price', (given) => {
  expect(decimalOf(given)).toBeUndefined()
})

it('divides exactly or not at all', () => {
  expect(quotient(read('4.375e-06'), read('2.5e-06'))).toBe('1.75')
  expect(quotient(read('1.25e-06'), read('2.5e-06'))).toBe('0.5')
  expect(quotient(read('1'), read('3'))).toBeUndefined()
  expect(quotient(read('1'), read('0'))).toBeUndefined()
  expect(decimalText(read('120e-1'))).toBe('12')
})
