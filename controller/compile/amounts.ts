/** Amounts in specs as numbers; undefined if a number cannot represent them. */
import { type Nanos, parseDollars } from '../../contract/money.ts'

export function nanos(text: string): Nanos | undefined {
  try {
    return parseDollars(text)
  } catch {
    return undefined
  }
}
