/** Narrow checks of a client's fields. Each throws GatewayError invalid_request naming the path. */
import { refusal } from '../../json/fields.ts'
import { isRecord } from '../../json/value.ts'
import type { Json } from './keeper.ts'

export function textAt(value: unknown, path: string): string {
  if (typeof value !== 'string') throw refusal(path, 'must be a string')
  return value
}

export function recordAt(value: unknown, path: string): Json {
  if (!isRecord(value)) throw refusal(path, 'must be an object')
  return value
}

export function listAt(value: unknown, path: string): unknown[] {
  if (!Array.isArray(value)) throw refusal(path, 'must be an array')
  return value
}

/** A number within bounds. */
export function numberFrom(min: number, max: number): (value: unknown, path: string) => number {
  return (value, path) => {
    if (typeof value === 'number' && value >= min && value <= max) return value
    throw refusal(path, `must be a number from ${min} to ${max}`)
  }
}

export function countAt(value: unknown, path: string): number {
  if (typeof value !== 'number' || !Number.isSafeInteger(value) || value < 0) {
    throw refusal(path, 'must be an integer, zero or more')
  }
  return value
}

export function flagAt(value: unknown, path: string): boolean {
  if (typeof value !== 'boolean') throw refusal(path, 'must be true or false')
  return value
}

export function textsAt(value: unknown, path: string): string[] {
  return listAt(value, path).map((item, i) => textAt(item, `${path}[${i}]`))
}

/** One of a few words. */
export function wordAt<T extends string>(value: unknown, words: readonly T[], path: string): T {
  const word = words.find((known) => known === value)
  if (word === undefined) throw refusal(path, `must be one of ${words.join(', ')}`)
  return word
}

/** Undefined for an absent field; null is as good as absent. */
export function optional<T>(
  value: unknown,
  path: string,
  read: (value: unknown, path: string) => T,
): T | undefined {
  return value === undefined || value === null ? undefined : read(value, path)
}
