/** Keeps the fields of a request that the neutral form does not type, so that their losses are reported by name. */
import { type Fields, isEmpty, isRecord, noFields } from '../json/value.ts'
import type { Ext } from './types.ts'

/** The position of an object; see Ext. */
export type Place = Pick<Ext, 'dialect' | 'at'>

/**
 * The ext of an object, to be spread into its neutral form; empty when all fields are typed. Leaves out empty fields
 * (null, '' and an empty list). `more`: further fields to keep, by their names below the place.
 */
export function keep(
  { dialect, at }: Place,
  object: Fields,
  typed: Iterable<string>,
  more: Fields = {},
): { ext?: Ext } {
  const fields: Fields = Object.assign(untyped(object, typed), more)
  return Object.keys(fields).length === 0 ? {} : { ext: { dialect, at, fields } }
}

/** The untyped fields of the object in field `name`, under their dotted names; empty for any other value. */
export function inside(name: string, object: unknown, typed: Iterable<string>): Fields {
  const fields = noFields()
  if (!isRecord(object)) return fields
  for (const [key, value] of Object.entries(untyped(object, typed))) fields[`${name}.${key}`] = value
  return fields
}

function untyped(object: Fields, typed: Iterable<string>): Fields {
  const known = new Set(typed)
  const fields = noFields()
  for (const [key, value] of Object.entries(object)) {
    if (!known.has(key) && !isEmpty(value)) fields[key] = value
  }
  return fields
}
