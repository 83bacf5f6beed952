/**
 * What only chat knows about a thing, and how it was written. `shape.kept` holds fields that say nothing (null, an
 * empty list, a default) but stood there: they are written again where the encoder itself writes nothing.
 */

import { type Fields, isRecord } from '../../core/json/value.ts'
import type { Ext } from '../../core/neutral/types.ts'

type Known = ReadonlySet<string>

/** An object inside of the thing whose unknown fields belong to it too, such as `function` of a tool. */
export interface Inner {
  name: string
  value: unknown
  known: Known
}

/**
 * The ext of `value`, spread into its neutral form; nothing when everything about it is typed. `lost` are known fields
 * with a value that is not.
 */
export function extOf(
  at: string,
  value: Fields,
  known: Known,
  { kept = {}, lost = {}, inner, ...shape }: { kept?: Fields; lost?: Fields; inner?: Inner } & Fields = {},
): { ext?: Ext } {
  const fields = Object.entries(lost)
  const silent: [string, unknown][] = []
  sort(value, known, '', fields, silent)
  if (inner !== undefined && isRecord(inner.value)) {
    sort(inner.value, inner.known, `${inner.name}.`, fields, silent)
  }
  const allKept = { ...Object.fromEntries(silent), ...kept }
  for (const key of Object.keys(shape)) if (shape[key] === undefined) delete shape[key]
  if (Object.keys(allKept).length > 0) shape.kept = allKept
  const hasShape = Object.keys(shape).length > 0
  if (fields.length === 0 && !hasShape) return {}
  return { ext: { dialect: 'chat', at, fields: Object.fromEntries(fields), ...(hasShape && { shape }) } }
}

function sort(
  value: Fields,
  known: Known,
  prefix: string,
  fields: [string, unknown][],
  silent: [string, unknown][],
) {
  for (const [key, item] of Object.entries(value)) {
    if (saysNothing(item)) silent.push([prefix + key, item])
    else if (!known.has(key)) fields.push([prefix + key, item])
  }
}

function saysNothing(value: unknown): boolean {
  return value === null || (Array.isArray(value) && value.length === 0)
}

/** How a thing was written, if it came in this dialect. */
export function shapeOf(ext: Ext | undefined): Fields {
  return ext?.dialect === 'chat' ? (ext.shape ?? {}) : {}
}

/** `out` with what its ext restores. Fields of `inner`, an object inside of it, are left to restoreInner. */
export function restore(out: Fields, ext: Ext | undefined, inner?: string): Fields {
  return {
    ...picked(ext, (key) => (inner !== undefined && key.startsWith(`${inner}.`) ? undefined : key)),
    ...out,
  }
}

export function restoreInner(out: Fields, ext: Ext | undefined, inner: string): Fields {
  const from = inner.length + 1
  return { ...picked(ext, (key) => (key.startsWith(`${inner}.`) ? key.slice(from) : undefined)), ...out }
}

function picked(ext: Ext | undefined, rename: (key: string) => string | undefined): Fields {
  if (ext?.dialect !== 'chat') return {}
  const kept = ext.shape?.kept
  const all = [...Object.entries(isRecord(kept) ? kept : {}), ...Object.entries(ext.fields)]
  return Object.fromEntries(
    all.flatMap(([key, value]): [string, unknown][] => {
      const name = rename(key)
      return name === undefined ? [] : [[name, value]]
    }),
  )
}
