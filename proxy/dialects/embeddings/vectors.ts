/** The two encodings of a vector: a JSON list of numbers, and base64 of little-endian float32 bytes. */
import { NEGATIVE_ZERO } from '../core/json/exact.ts'
import { decodedLength } from '../core/json/weigh.ts'

const FLOAT_BYTES = 4

/** True for a non-empty list of finite numbers. */
export function isNumbers(value: unknown): value is number[] {
  return Array.isArray(value) && value.length > 0 && value.every(Number.isFinite)
}

/** True for base64 of at least one finite number. */
export function isEncoded(value: unknown): value is string {
  return typeof value === 'string' && bytesOf(value) !== undefined
}

/** Undefined if a number is too large for float32. */
export function encode(numbers: readonly number[]): string | undefined {
  const bytes = Buffer.alloc(numbers.length * FLOAT_BYTES)
  const view = viewOf(bytes)
  numbers.forEach((number, i) => {
    view.setFloat32(i * FLOAT_BYTES, number, true)
  })
  return areFinite(bytes) ? bytes.toString('base64') : undefined
}

/** Undefined if `text` is not base64 of finite numbers. */
export function decode(text: string): number[] | undefined {
  const bytes = bytesOf(text)
  if (bytes === undefined) return undefined
  const view = viewOf(bytes)
  const numbers: number[] = []
  for (let at = 0; at < bytes.length; at += FLOAT_BYTES) numbers.push(view.getFloat32(at, true))
  return numbers
}

/** The list for JSON.stringify, which would otherwise write -0 as 0. */
export function exactly(numbers: readonly number[]): readonly unknown[] {
  if (!numbers.some(isNegativeZero)) return numbers
  return numbers.map((number) => (isNegativeZero(number) ? NEGATIVE_ZERO : number))
}

function isNegativeZero(number: number): boolean {
  return Object.is(number, -0)
}

function bytesOf(text: string): Buffer | undefined {
  const bytes = Buffer.from(text, 'base64')
  // Buffer skips characters that are not base64, and stops at padding.
  const isWhole = bytes.length > 0 && bytes.length % FLOAT_BYTES === 0 && bytes.length === decodedLength(text)
  return isWhole && areFinite(bytes) ? bytes : undefined
}

function areFinite(bytes: Buffer): boolean {
  const view = viewOf(bytes)
  for (let at = 0; at < bytes.length; at += FLOAT_BYTES) {
    if (!Number.isFinite(view.getFloat32(at, true))) return false
  }
  return true
}

function viewOf({ buffer, byteOffset, length }: Buffer): DataView {
  return new DataView(buffer, byteOffset, length)
}
