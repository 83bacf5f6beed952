import { hash } from 'node:crypto'

/**
 * SHA-256 (hex) of the canonical JSON of a record: equal for equal content, regardless of the order of keys. Undefined
 * fields count as absent, as in JSON.
 */
export function digest(record: unknown): string {
  return hash('sha256', JSON.stringify(record, sortKeys), 'hex')
}

function sortKeys(_key: string, value: unknown): unknown {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value
  return Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1)))
}
