/** A JSON object. */
export type Fields = Record<string, unknown>

/** A JSON value that is an object: neither null nor an array. */
export function isRecord(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** An object for fields of any name: on one with a prototype `__proto__` would be no field. */
export function noFields(): Fields {
  return Object.create(null)
}

/** How every JSON value begins. */
const JSON_BEGIN = /^\s*[[{"\d\-tfn]/

/** The JSON value that `text` is, or undefined when it is none. What does not begin like one is not tried: errors are slow. */
export function tryParse(text: string): unknown {
  if (!JSON_BEGIN.test(text)) return undefined
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
