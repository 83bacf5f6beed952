import { describe, expect, test } from 'vitest'
import { readReserved, readSettled } from './ledger-replies.ts'

const PLAIN = { sub: undefined, budgets: [], meters: [] }

describe('the reply to a reservation', () => {
  test('has its numbers as text, apart from the time', () => {
    const held = { reply: 'OK', reservedAt: 1_700, free: -5, posted: 12, spent: [], room: [] }
    expect(readReserved(PLAIN, ['OK', 1_700, '-5', '12'])).toEqual(held)
    expect(readReserved({ ...PLAIN, sub: 'team' }, ['OK', 1_700, '-5', '12', '7'])).toEqual({
      ...held,
      subPosted: 7,
    })
  })

  test.each([
    [['OK', 1_700, '12.5', '12']],
    [['OK', 1_700, 'many', '12']],
    [['OK', 1_700, '9007199254740993', '12']],
    [['OK', 1_700, null, '12']],
    [['OK', 1_700, '12']],
    [['OK', 1_700, '1', '2', 'x']],
    [['WHAT']],
    ['OK'],
    [null],
  ])('is refused when it is %j', (reply) => {
    expect(() => readReserved(PLAIN, reply)).toThrow(/"code"/)
  })

  test('is refused without the funds of the sub-account', () => {
    expect(() => readReserved({ ...PLAIN, sub: 'team' }, ['OK', 1_700, '1', '2'])).toThrow(/"code"/)
  })
})

describe('the reply to a settle', () => {
  test('names the entry', () => {
    expect(readSettled(['OK', '17-0'])).toEqual({ reply: 'OK', entry: '17-0' })
    expect(readSettled(['LATE', '17-1'])).toEqual({ reply: 'LATE', entry: '17-1' })
    expect(readSettled(['NOACCT'])).toEqual({ reply: 'NOACCT' })
  })

  test.each([
    [['OK']],
    [['OK', 17]],
    [['OK', '17']],
    [['OK', '17-0', 'x']],
    [['WHAT', '17-0']],
    ['OK'],
    [null],
  ])('is refused when it is %j', (reply) => {
    expect(() => readSettled(reply)).toThrow(/"code"/)
  })
})
