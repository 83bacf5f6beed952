import { isRecord } from '../json/value.ts'

/** Keywords with values of the document, not with schemas. */
const VALUES = new Set(['enum', 'const', 'default', 'examples', 'required'])
/** Keywords with a schema for each of many names. */
const NAMED = new Set(['properties', 'patternProperties', '$defs', 'definitions'])

/** True when every object in a JSON Schema names all that it may hold and asks for all of it: what `strict` needs. */
export function isClosedSchema(schema: unknown): boolean {
  if (Array.isArray(schema)) return schema.every(isClosedSchema)
  if (!isRecord(schema)) return true
  if (schema.type === 'object' || isRecord(schema.properties)) {
    const names = Object.keys(isRecord(schema.properties) ? schema.properties : {})
    const required: unknown[] = Array.isArray(schema.required) ? schema.required : []
    if (schema.additionalProperties !== false || names.some((name) => !required.includes(name))) return false
  }
  return Object.entries(schema).every(([key, value]) => {
    if (VALUES.has(key)) return true
    return NAMED.has(key) && isRecord(value)
      ? Object.values(value).every(isClosedSchema)
      : isClosedSchema(value)
  })
}
