/** Amounts and times in specs as numbers; undefined if a number cannot represent them. */
import { type Nanos, parseDollars } from '../../contract/money.ts'

export function nanos(text: string): Nanos | undefined {
  try {
    return parseDollars(text)
  } catch {
    return undefined
  }
}

/** Milliseconds since the epoch of an RFC 3339 time. */
export function instant(text: string): number | undefined {
  const time = Date.parse(text)
  return Number.isNaN(time) ? undefined : time
}
