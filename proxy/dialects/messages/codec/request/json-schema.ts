/**
 * Restricts a JSON Schema to the keywords that structured output accepts: closes objects, and moves other constraints
 * into the description, where the model reads them.
 */
import { type Fields, isRecord } from '../../../core/json/value.ts'

/** Keywords that the API enforces, and those without a constraint. */
const TAKEN = new Set([
  'type',
  'title',
  'description',
  'default',
  'enum',
  'const',
  'anyOf',
  'allOf',
  'items',
  'properties',
  'required',
  'additionalProperties',
  '$ref',
  '$defs',
  'definitions',
])
const FORMATS = ['date-time', 'time', 'date', 'duration', 'email', 'hostname', 'uri', 'ipv4', 'ipv6', 'uuid']

interface AdaptedSchema {
  schema: Fields
  /** True when a constraint is no longer enforced, or an object can no longer have members that the client allows. */
  changed: boolean
}

export function adaptSchema(schema: Fields): AdaptedSchema {
  const state = { changed: false }
  return { schema: adapt(schema, state), changed: state.changed }
}

function adapt(schema: Fields, state: { changed: boolean }): Fields {
  const out: Fields = {}
  const moved: string[] = []
  for (const [key, value] of Object.entries(schema)) {
    if (key === '$schema') continue
    if (key === 'oneOf' && Array.isArray(value) && schema.anyOf === undefined) {
      out.anyOf = value.map((item: unknown) => adaptAny(item, state))
      state.changed = true
    } else if (isTaken(key, value)) out[key] = adaptValue(key, value, state)
    else moved.push(`${key}: ${JSON.stringify(value)}`)
  }
  if (isObjectSchema(schema) && schema.additionalProperties !== false) {
    out.additionalProperties = false
    // Values of the closed object fit the open one too.
    if (schema.additionalProperties !== undefined || !isRecord(schema.properties)) state.changed = true
  }
  if (moved.length > 0) {
    const own = typeof schema.description === 'string' ? `${schema.description}\n\n` : ''
    out.description = `${own}{${moved.join(', ')}}`
    state.changed = true
  }
  return out
}

function isTaken(key: string, value: unknown): boolean {
  if (key === 'format') return FORMATS.some((format) => format === value)
  if (key === 'minItems') return value === 0 || value === 1
  return TAKEN.has(key)
}

function adaptValue(key: string, value: unknown, state: { changed: boolean }): unknown {
  switch (key) {
    case 'anyOf':
    case 'allOf':
      return Array.isArray(value) ? value.map((item: unknown) => adaptAny(item, state)) : value
    case 'items':
      return adaptAny(value, state)
    case 'properties':
    case '$defs':
    case 'definitions':
      if (!isRecord(value)) return value
      return Object.fromEntries(Object.entries(value).map(([name, item]) => [name, adaptAny(item, state)]))
    default:
      return value
  }
}

function adaptAny(value: unknown, state: { changed: boolean }): unknown {
  return isRecord(value) ? adapt(value, state) : value
}

function isObjectSchema({ type, properties }: Fields): boolean {
  return type === 'object' || (Array.isArray(type) && type.includes('object')) || isRecord(properties)
}
