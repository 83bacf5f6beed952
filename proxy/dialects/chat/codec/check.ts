/** Checks of a request's fields. Every refusal names the path of its field. */
import { refusal } from '../../json/fields.ts'
import { isRecord } from '../../json/value.ts'

export type Fields = Record<string, unknown>

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

export function booleanAt(value: unknown, path: string): boolean {
  if (typeof value !== 'boolean') throw refusal(path, 'must be true or false')
  return value
}

export function integerAt(value: unknown, path: string): number {
  if (!Number.isSafeInteger(value)) throw refusal(path, 'must be an integer')
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

/** An optional field: null is as good as absent. */
export function optional<T>(value: unknown, path: string, check: Check<T>): T | undefined {
  return value === undefined || value === null ? undefined : check(value, path)
}

/** The fields that have a value. */
export function present<T extends object>(fields: T): { [K in keyof T]?: Exclude<T[K], undefined> } {
  const kept = Object.entries(fields).filter(([, value]) => value !== undefined)
  return Object.fromEntries(kept) as { [K in keyof T]?: Exclude<T[K], undefined> }
}
