/**
 * Keeps what the neutral form has no field for, and puts it back. Fields that mean something are told as losses in
 * another dialect; `rest` holds explicit nulls, empty objects and defaults, which nobody misses.
 */

import { isRecord, noFields } from '../../../core/json/value.ts'
import type { Ext } from '../../../core/neutral/types.ts'

export type Json = Record<string, unknown>

/** Objects of which single fields are kept, inner ones first. */
const PARENTS = [
  'output_config.format',
  'output_config',
  'output_format',
  'tool_choice',
  'metadata',
  'source',
  'cache_control',
] as const
type Parent = (typeof PARENTS)[number]

/** Collects the leftovers of one object. Keys of objects inside it are dotted: `output_config.task_budget`. */
export class Keeper {
  readonly fields: Json = noFields()
  readonly rest: Json = noFields()
  readonly shape: Json = {}

  /** Keeps what `object` holds beside its typed keys. Nulls are kept of all keys. */
  take(object: Json, typed: readonly string[]): this {
    for (const [key, value] of Object.entries(object)) {
      if (value === null) this.rest[key] = null
      else if (!typed.includes(key)) this.fields[key] = value
    }
    return this
  }

  /** The same for the object that stands at `parent`. */
  takeInside(parent: Parent, object: Json, typed: readonly string[]): void {
    const entries = Object.entries(object)
    if (entries.length === 0) this.rest[parent] = {}
    for (const [key, value] of entries) {
      if (value === null) this.rest[`${parent}.${key}`] = null
      else if (!typed.includes(key)) this.fields[`${parent}.${key}`] = value
    }
  }

  /** To be spread into what was decoded; empty when nothing was kept. */
  ext(at: string): { ext?: Ext } {
    const hasRest = Object.keys(this.rest).length > 0
    const shape = { ...this.shape, ...(hasRest && { rest: this.rest }) }
    const hasShape = Object.keys(shape).length > 0
    if (!hasShape && Object.keys(this.fields).length === 0) return {}
    return { ext: { dialect: 'messages', at, fields: this.fields, ...(hasShape && { shape }) } }
  }
}

/** How a thing was written; undefined when it came from another dialect. */
export function shapeOf(ext: Ext | undefined): Json | undefined {
  return ext?.dialect === 'messages' ? (ext.shape ?? {}) : undefined
}

/** `object` with all that was kept beside it, where it has no value of its own. */
export function restore(object: Json, ext: Ext | undefined): Json {
  const shape = shapeOf(ext)
  if (shape === undefined || ext === undefined) return object
  const kept: Json = { ...(isRecord(shape.rest) && shape.rest), ...ext.fields }
  const restored: Json = Object.assign(noFields(), object)
  const copies = new Set<unknown>()
  for (const [key, value] of Object.entries(kept)) place(restored, key, value, copies)
  return restored
}

/** Sets a value that is absent; objects on the way to it are made, or copied: `copies` has those that were. */
function place(object: Json, key: string, value: unknown, copies: Set<unknown>): void {
  const parent = PARENTS.find((name) => key.startsWith(`${name}.`))
  if (parent === undefined) {
    object[key] ??= value
    return
  }
  let at = object
  for (const name of parent.split('.')) at = copyAt(at, name, copies)
  at[key.slice(parent.length + 1)] ??= value
}

function copyAt(object: Json, key: string, copies: Set<unknown>): Json {
  const child = object[key]
  if (isRecord(child) && copies.has(child)) return child
  const copy: Json = Object.assign(noFields(), isRecord(child) ? child : {})
  copies.add(copy)
  object[key] = copy
  return copy
}
