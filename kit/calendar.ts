/** Calendar days, weeks and months in a time zone. */

export type Period = 'Day' | 'Week' | 'Month'

const DAY_MS = 86_400_000

const formats = new Map<string, Intl.DateTimeFormat>()

/** Throws RangeError for a time zone that this machine does not know. */
function formatOf(timeZone: string): Intl.DateTimeFormat {
  const known = formats.get(timeZone)
  if (known !== undefined) return known
  const parts = {
    year: 'numeric',
    month: 'numeric',
    day: 'numeric',
    hour: 'numeric',
    minute: 'numeric',
    second: 'numeric',
  } as const
  const made = new Intl.DateTimeFormat('en-US', {
    timeZone,
    calendar: 'gregory',
    hourCycle: 'h23',
    era: 'short',
    ...parts,
  })
  formats.set(timeZone, made)
  return made
}

export function isTimeZone(name: string): boolean {
  try {
    formatOf(name)
    return true
  } catch {
    return false
  }
}

/** When the period that contains `at` began, and when the next two begin, in ms. Weeks begin on Monday. */
export function periodsAt(at: number, period: Period, timeZone: string): [number, number, number] {
  const { year, month, day } = dateAt(at, timeZone)
  const begin = (n: number) => {
    switch (period) {
      case 'Day':
        return beginningOf(Date.UTC(year, month, day + n), timeZone)
      case 'Week': {
        const sinceMonday = (new Date(Date.UTC(year, month, day)).getUTCDay() + 6) % 7
        return beginningOf(Date.UTC(year, month, day - sinceMonday + 7 * n), timeZone)
      }
      case 'Month':
        return beginningOf(Date.UTC(year, month + n, 1), timeZone)
    }
  }
  return [begin(0), begin(1), begin(2)]
}

/** The date that a calendar in the time zone shows; `month` counts from 0. */
function dateAt(at: number, timeZone: string): { year: number; month: number; day: number } {
  const shown = new Date(clockAt(at, timeZone))
  return { year: shown.getUTCFullYear(), month: shown.getUTCMonth(), day: shown.getUTCDate() }
}

/** What a clock in the time zone shows, as if it were UTC. */
function clockAt(at: number, timeZone: string): number {
  const parts = Object.fromEntries(
    formatOf(timeZone)
      .formatToParts(at)
      .map(({ type, value }) => [type, Number(value)]),
  )
  const { year = 0, month = 1, day = 1, hour = 0, minute = 0, second = 0 } = parts
  return Date.UTC(year, month - 1, day, hour, minute, second)
}

/**
 * The first moment of a date, given as its midnight in UTC. Where clocks are changed on that date or on the one before, the
 * offset from UTC differs before and after. Some dates have no midnight: clocks are put forward then.
 */
function beginningOf(midnight: number, timeZone: string): number {
  const offsets = [midnight - DAY_MS, midnight + DAY_MS].map((at) => clockAt(at, timeZone) - at)
  const moments = offsets.map((offset) => midnight - offset).sort((a, b) => a - b)
  return moments.find((moment) => clockAt(moment, timeZone) >= midnight) ?? midnight
}
