import { jsonOf } from '../../../../contract/text.ts'

/** A JSON object. */
export type Fields = Record<string, unknown>

/** A JSON value that is an object: neither null nor an array. */
export function isRecord(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** The value if it is a list; else an empty one. */
export function listOf(value: unknown): unknown[] {
  return Array.isArray(value) ? value : []
}

/** The value if it is a string; else ''. */
export function textOf(value: unknown): string {
  return typeof value === 'string' ? value : ''
}

export function isText(value: unknown): value is string {
  return typeof value === 'string' && value !== ''
}

/** True for null, undefined, '' and an empty list. */
export function isEmpty(value: unknown): boolean {
  return value === null || value === undefined || value === '' || (Array.isArray(value) && value.length === 0)
}

/** An empty object without a prototype: with one, `__proto__` could not be a field. */
export function noFields(): Fields {
  return Object.create(null)
}

/** The result of `write`; undefined when a value nests too deep, or becomes too long, for JSON.stringify. */
export function unlessTooDeep<T>(write: () => T): T | undefined {
  try {
    return write()
  } catch (error) {
    if (error instanceof RangeError) return undefined
    throw error
  }
}

const JSON_BEGIN = /^\s*[[{"\d\-tfn]/

/** The parsed JSON, or undefined for other text. Checks the first character first, because exceptions are slow. */
export function tryParse(text: string): unknown {
  return JSON_BEGIN.test(text) ? jsonOf(text) : undefined
}
