import { describe, expect, it } from 'vitest'
import { parseArguments } from './exact.ts'

const LONG = '{"id":12345678901234567890,"list":[-9007199254740993],"small":9007199254740991,"half":0.5}'

describe('parseArguments', () => {
  it('keeps integers beyond 2^53 as they were written', () => {
    expect(JSON.stringify(parseArguments(LONG))).toBe(LONG)
  })

  it('gives plain numbers if they keep all digits', () => {
    expect(parseArguments('{"a":9007199254740991}')).toEqual({ a: 9007199254740991 })
  })

  it('does not mistake digits in a string for a number', () => {
    expect(parseArguments('{"a":"x: 12345678901234567890"}')).toEqual({ a: 'x: 12345678901234567890' })
  })

  it('returns undefined for invalid JSON, and other values unchanged', () => {
    expect(parseArguments('{"a":')).toBeUndefined()
    expect(parseArguments('12345678901234567890')).toBe(Number('12345678901234567890'))
  })
})
