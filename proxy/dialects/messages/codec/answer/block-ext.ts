/** Keeps what only the messages dialect knows of an object, and puts it back where that dialect is written again. */
import type { Ext } from '../../../core/neutral/types.ts'
import { shapeOf } from '../request/keeper.ts'

/**
 * The fields of `object` that are not among `known`; undefined when there is nothing to keep. A field that is null says
 * nothing elsewhere, so it is kept beside `spelled` as part of the shape.
 */
export function extOf(
  at: string,
  object: Record<string, unknown>,
  known: ReadonlySet<string>,
  spelled?: Record<string, unknown>,
): Ext | undefined {
  const unknown = Object.entries(object).filter(([field]) => !known.has(field))
  if (unknown.length === 0 && spelled === undefined) return undefined
  const fields = Object.fromEntries(unknown.filter(([, value]) => value !== null))
  const nulls = Object.fromEntries(unknown.filter(([, value]) => value === null))
  return { dialect: 'messages', at, fields, shape: { ...nulls, ...spelled } }
}

/** What extOf kept of fields, nulls included; nothing for an ext of another dialect. */
export function restored(ext: Ext | undefined): Record<string, unknown> {
  const shape = shapeOf(ext)
  if (ext === undefined || shape === undefined) return {}
  const nulls = Object.entries(shape).filter(([, value]) => value === null)
  return { ...Object.fromEntries(nulls), ...ext.fields }
}

/** Marks a block without content: it stays in its own dialect and is left out elsewhere. */
export function markEmpty(ext?: Ext): Ext {
  return { dialect: 'messages', at: 'content', fields: {}, ...ext, shape: { ...ext?.shape, empty: true } }
}

export function isMarkedEmpty(ext: Ext | undefined): boolean {
  return shapeOf(ext)?.empty === true
}
