/** Keeps the fields of a request that the neutral form does not type, so that their loss can be told by their names. */
import { type Fields, isRecord, noFields } from '../json/value.ts'
import type { Ext } from './types.ts'

/** Where a thing stands; see Ext. */
export type Place = Pick<Ext, 'dialect' | 'at'>

/**
 * The ext of an object, to be spread into its neutral form; nothing when all of it is typed. Fields that say nothing
 * (null, '' and an empty list) are left out. `more`: fields that are kept as well, by their names below the place.
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

/** The fields of an object that stands in `name` of a thing, under their dotted names; none of what is no object. */
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
    if (!known.has(key) && !saysNothing(value)) fields[key] = value
  }
  return fields
}

function saysNothing(value: unknown): boolean {
  return value === null || value === '' || (Array.isArray(value) && value.length === 0)
}
