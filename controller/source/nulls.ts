/** What is written and says nothing, as `models: null` does. */
import { z } from 'zod'

/**
 * Leaves out the known fields and the entries of maps that are null, as the API server does where a schema is not
 * nullable (https://kubernetes.io/docs/tasks/extend-kubernetes/custom-resources/custom-resource-definitions/#defaulting-and-nullable).
 * An unknown field stays, and so does an entry of a list: both are refused.
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

/** The schema of a field by its name; undefined for what is neither an object nor a map. */
function knownFields(schema: unknown): ((name: string) => unknown) | undefined {
  if (schema instanceof z.ZodRecord) return () => schema.valueType
  if (schema instanceof z.ZodObject)
    return (name) => (Object.hasOwn(schema.shape, name) ? schema.shape[name] : undefined)
  return undefined
}
