import fc from 'fast-check'
import { describe, expect, it, test } from 'vitest'
import { isTimeZone, type Period, periodsAt } from './calendar.ts'

const at = (text: string) => Date.parse(text)
const shown = (text: string, period: Period, zone: string) =>
  periodsAt(at(text), period, zone).map((begin) => new Date(begin).toISOString().replace(':00.000Z', 'Z'))

describe('periods', () => {
  // Dates of clock changes from the IANA time zone database, offsets reckoned by hand.
  test.each<[Period, string, string, string[]]>([
    ['Day', 'UTC', '2026-11-23T18:00:00Z', ['2026-11-23T00:00Z', '2026-11-24T00:00Z', '2026-11-25T00:00Z']],
    [
      'Week',
      'UTC',
      '2026-11-22T23:59:59.999Z',
      ['2026-11-16T00:00Z', '2026-11-23T00:00Z', '2026-11-30T00:00Z'],
    ],
    ['Week', 'UTC', '2026-11-23T00:00:00Z', ['2026-11-23T00:00Z', '2026-11-30T00:00Z', '2026-12-07T00:00Z']],
    ['Month', 'UTC', '2026-12-31T23:59:59Z', ['2026-12-01T00:00Z', '2027-01-01T00:00Z', '2027-02-01T00:00Z']],
    ['Month', 'UTC', '2028-02-29T12:00:00Z', ['2028-02-01T00:00Z', '2028-03-01T00:00Z', '2028-04-01T00:00Z']],
    // Half an hour off, and ahead of UTC by most of a day.
    [
      'Day',
      'Asia/Kolkata',
      '2026-06-01T18:29:59Z',
      ['2026-05-31T18:30Z', '2026-06-01T18:30Z', '2026-06-02T18:30Z'],
    ],
    [
      'Day',
      'Pacific/Kiritimati',
      '2026-06-01T10:00:00Z',
      ['2026-06-01T10:00Z', '2026-06-02T10:00Z', '2026-06-03T10:00Z'],
    ],
    // Clocks forward on 29 March 2026, back on 25 October 2026.
    [
      'Day',
      'Europe/Berlin',
      '2026-03-28T23:30:00Z',
      ['2026-03-28T23:00Z', '2026-03-29T22:00Z', '2026-03-30T22:00Z'],
    ],
    [
      'Day',
      'Europe/Berlin',
      '2026-10-24T22:00:00Z',
      ['2026-10-24T22:00Z', '2026-10-25T23:00Z', '2026-10-26T23:00Z'],
    ],
    [
      'Week',
      'Europe/Berlin',
      '2026-10-20T00:00:00Z',
      ['2026-10-18T22:00Z', '2026-10-25T23:00Z', '2026-11-01T23:00Z'],
    ],
    [
      'Month',
      'America/Los_Angeles',
      '2026-11-01T06:59:59Z',
      ['2026-10-01T07:00Z', '2026-11-01T07:00Z', '2026-12-01T08:00Z'],
    ],
    // Midnight itself does not exist: clocks go forward from 24:00 to 01:00.
    [
      'Day',
      'Asia/Beirut',
      '2026-03-28T12:00:00Z',
      ['2026-03-27T22:00Z', '2026-03-28T22:00Z', '2026-03-29T21:00Z'],
    ],
    // Clocks go back at 24:00, so that 23:00 to 24:00 comes twice.
    [
      'Day',
      'Asia/Beirut',
      '2026-10-24T12:00:00Z',
      ['2026-10-23T21:00Z', '2026-10-24T22:00Z', '2026-10-25T22:00Z'],
    ],
  ])('%s in %s at %s', (period, zone, moment, expected) => {
    expect(shown(moment, period, zone)).toEqual(expected)
  })

  it('follow each other without a gap, in every zone', () => {
    const zones = fc.constantFrom(...Intl.supportedValuesOf('timeZone'))
    const moments = fc.integer({ min: at('2000-01-01T00:00:00Z'), max: at('2060-01-01T00:00:00Z') })
    const periods = fc.constantFrom<Period>('Day', 'Week', 'Month')
    fc.assert(
      fc.property(zones, moments, periods, (zone, moment, period) => {
        const [first, second, third] = periodsAt(moment, period, zone)
        expect(first).toBeLessThanOrEqual(moment)
        expect(second).toBeGreaterThan(moment)
        expect(periodsAt(second, period, zone).slice(0, 2)).toEqual([second, third])
        expect(periodsAt(second - 1, period, zone).slice(0, 2)).toEqual([first, second])
      }),
    )
  })
})

it('knows the names of time zones', () => {
  expect(['UTC', 'Europe/Berlin', 'Europe/Atlantis', ''].map(isTimeZone)).toEqual([true, true, false, false])
})
