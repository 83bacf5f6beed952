/** Fields that are set to null, such as `models: null`. */
import { z } from 'zod'

/**
 * Removes known fields and map entries that are null, as the API server does if a schema is not nullable
 * (https://kubernetes.io/docs/tasks/extend-kubernetes/custom-resources/custom-resource-definitions/#defaulting-and-nullable).
 * Unknown fields and list entries stay, so that the schema refuses them.
 */
export function withoutNulls(schema: unknown, value: unknown): unknown {
  if (schema instanceof z.ZodOptional || schema instanceof z.ZodDefault)
    return withoutNulls(schema.unwrap(), value)
  if (schema instanceof z.ZodArray && Array.isArray(value))
    return value.map((entry: unknown) => withoutNulls(schema.element, entry))
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value
  const known = knownFields(schema)
  if (known === undefined) return value
  return Object.fromEntries(
    Object.entries(value)
      .filter(([name, field]) => field !== null || known(name) === undefined)
      .map(([name, field]) => [name, withoutNulls(known(name), field)]),
  )
}

/** Returns the schema of a field by its name; undefined if the schema is neither an object nor a map. */
function knownFields(schema: unknown): ((name: string) => unknown) | undefined {
  if (schema instanceof z.ZodRecord) return () => schema.valueType
  if (schema instanceof z.ZodObject)
    return (name) => (Object.hasOwn(schema.shape, name) ? schema.shape[name] : undefined)
  return undefined
}
