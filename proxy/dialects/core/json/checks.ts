/** Checks of single fields of a client. Each throws GatewayError invalid_request with the path of its field. */
import { refusal } from './fields.ts'
import { type Fields, isRecord } from './value.ts'

type Check<T> = (value: unknown, path: string) => T

export function recordAt(value: unknown, path: string): Fields {
  if (!isRecord(value)) throw refusal(path, 'must be an object')
  return value
}

export function listAt(value: unknown, path: string): unknown[] {
  if (!Array.isArray(value)) throw refusal(path, 'must be an array')
  return value
}

export function stringAt(value: unknown, path: string): string {
  if (typeof value !== 'string') throw refusal(path, 'must be a string')
  return value
}

export function nameAt(value: unknown, path: string): string {
  if (typeof value !== 'string' || value === '') throw refusal(path, 'must be a non-empty string')
  return value
}

export function stringsAt(value: unknown, path: string): string[] {
  return listAt(value, path).map((item, i) => stringAt(item, `${path}[${i}]`))
}

export function booleanAt(value: unknown, path: string): boolean {
  if (typeof value !== 'boolean') throw refusal(path, 'must be true or false')
  return value
}

export function integerAt(value: unknown, path: string): number {
  if (!Number.isSafeInteger(value)) throw refusal(path, 'must be an integer')
  return Number(value)
}

export function countAt(value: unknown, path: string): number {
  if (!Number.isSafeInteger(value) || Number(value) < 0)
    throw refusal(path, 'must be an integer, zero or more')
  return Number(value)
}

export function numberFrom(min: number, max: number): Check<number> {
  return (value, path) => {
    if (typeof value === 'number' && value >= min && value <= max) return value
    throw refusal(path, `must be a number from ${min} to ${max}`)
  }
}

export function oneOf<const T extends string>(words: readonly T[]): Check<T> {
  return (value, path) => {
    const word = words.find((w) => w === value)
    if (word === undefined) throw refusal(path, `must be one of ${words.join(', ')}`)
    return word
  }
}

/** Checks an optional field; null counts as absent. */
export function optional<T>(value: unknown, path: string, check: Check<T>): T | undefined {
  return value === undefined || value === null ? undefined : check(value, path)
}
