/** Exact decimal numbers: a price is never a float between the file and the block that is printed. */
import { withoutEnd } from '../../contract/text.ts'

/** The number digits × 10^-places; never negative. */
export interface Decimal {
  digits: bigint
  places: number
}

/** Decimals of a price in a resource. */
const MAX_PLACES = 9
const NUMBER = /^([0-9]+)(?:\.([0-9]+))?(?:[eE]([+-]?[0-9]{1,3}))?$/

/** Reads a number as JSON writes it, such as "2.5e-06". Undefined for a negative number and for other text. */
export function decimalOf(text: string): Decimal | undefined {
  const [, whole, fraction = '', exponent = '0'] = NUMBER.exec(text) ?? []
  if (whole === undefined) return undefined
  const places = fraction.length - Number(exponent)
  const digits = BigInt(whole + fraction)
  return places >= 0 ? { digits, places } : { digits: digits * 10n ** BigInt(-places), places: 0 }
}

/** The number × 10^power. */
export function shifted({ digits, places }: Decimal, power: number): Decimal {
  const left = places - power
  return left >= 0 ? { digits, places: left } : { digits: digits * 10n ** BigInt(-left), places: 0 }
}

/** The shortest text of the number, without an exponent: "2.5". */
export function decimalText({ digits, places }: Decimal): string {
  const text = digits.toString().padStart(places + 1, '0')
  const whole = text.slice(0, text.length - places)
  const fraction = withoutEnd(text.slice(text.length - places), '0')
  return fraction === '' ? whole : `${whole}.${fraction}`
}

/** The number with at most as many decimals as a price may have, rounded up. `exact`: nothing was rounded. */
export function asPrice(value: Decimal): { text: string; exact: boolean } {
  const { digits, places } = value
  if (places <= MAX_PLACES) return { text: decimalText(value), exact: true }
  const unit = 10n ** BigInt(places - MAX_PLACES)
  const exact = digits % unit === 0n
  return { text: decimalText({ digits: digits / unit + (exact ? 0n : 1n), places: MAX_PLACES }), exact }
}

/** a / b as decimal text with at most nine decimals; undefined if that is not exact, or b is 0. */
export function quotient(a: Decimal, b: Decimal): string | undefined {
  const numerator = a.digits * 10n ** BigInt(b.places + MAX_PLACES)
  const denominator = b.digits * 10n ** BigInt(a.places)
  if (denominator === 0n || numerator % denominator !== 0n) return undefined
  return decimalText({ digits: numerator / denominator, places: MAX_PLACES })
}
