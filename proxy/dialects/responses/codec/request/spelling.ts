/** Keeps how a client wrote an object, so that the same dialect can write it again. */
import { isDeepStrictEqual } from 'node:util'
import type { Fields } from '../../../core/json/value.ts'
import type { Ext } from '../../../core/neutral/types.ts'

export interface SpellingOptions {
  /** Keys that are restored elsewhere. */
  handled?: readonly string[]
  /** Keys that mean nothing to any other dialect, or that the typed fields say. */
  silent?: readonly string[]
  /** Keys of which the typed fields say only a part. */
  told?: readonly string[]
}

/**
 * What makes `original` out of `written`, which is what the encoder makes of the typed fields alone; undefined when
 * they are equal. Keys that the encoder does not know are `fields`, which other dialects tell as lost.
 */
export function spell(
  at: string,
  original: Fields,
  written: Fields,
  options: SpellingOptions = {},
): Ext | undefined {
  const { handled = [], silent = [], told = [] } = options
  const differing = Object.entries(original).filter(
    ([key, value]) => !handled.includes(key) && !isDeepStrictEqual(written[key], value),
  )
  const unset = Object.keys(written).filter((key) => !handled.includes(key) && !Object.hasOwn(original, key))
  const unknown = differing.filter(
    ([key, value]) =>
      told.includes(key) || (!Object.hasOwn(written, key) && !silent.includes(key) && !isEmpty(value)),
  )
  if (differing.length === 0 && unset.length === 0) return undefined
  return {
    dialect: 'responses',
    at,
    fields: Object.fromEntries(unknown),
    shape: { set: Object.fromEntries(differing), unset },
  }
}

/** `written` as the client had it. An ext of another dialect, or none, changes nothing. */
export function respell(written: Fields, ext: Ext | undefined): Fields {
  if (ext?.dialect !== 'responses' || ext.shape === undefined) return written
  const { set, unset } = ext.shape
  const kept = Object.entries(written).filter(([key]) => !(Array.isArray(unset) && unset.includes(key)))
  return Object.fromEntries([...kept, ...Object.entries(set ?? {})])
}

/** `ext` with more in its shape. */
export function withShape(ext: Ext | undefined, at: string, shape: Fields): Ext {
  return {
    dialect: 'responses',
    at,
    fields: ext?.fields ?? {},
    shape: { ...ext?.shape, ...shape },
  }
}

/** A value of the shape; undefined in an ext of another dialect. */
export function shapeOf(ext: Ext | undefined, key: string): unknown {
  return ext?.dialect === 'responses' ? ext.shape?.[key] : undefined
}

function isEmpty(value: unknown): boolean {
  return value === null || value === '' || (Array.isArray(value) && value.length === 0)
}
