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

/** The JSON value that `text` is, or undefined when it is none. */
export function tryParse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
