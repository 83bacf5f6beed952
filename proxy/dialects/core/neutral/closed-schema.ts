import { isRecord, listOf } from '../json/value.ts'

/** Keywords whose values are not schemas. */
const VALUES = new Set(['enum', 'const', 'default', 'examples', 'required'])
/** Keywords that map names to schemas. */
const NAMED = new Set(['properties', 'patternProperties', '$defs', 'definitions'])

/** True when every object in a JSON Schema lists and requires all its properties, as `strict` demands. */
export function isClosedSchema(schema: unknown): boolean {
  if (Array.isArray(schema)) return schema.every(isClosedSchema)
  if (!isRecord(schema)) return true
  if (schema.type === 'object' || isRecord(schema.properties)) {
    const names = Object.keys(isRecord(schema.properties) ? schema.properties : {})
    const required = listOf(schema.required)
    if (schema.additionalProperties !== false || names.some((name) => !required.includes(name))) return false
  }
  return Object.entries(schema).every(([key, value]) => {
    if (VALUES.has(key)) return true
    return NAMED.has(key) && isRecord(value)
      ? Object.values(value).every(isClosedSchema)
      : isClosedSchema(value)
  })
}
