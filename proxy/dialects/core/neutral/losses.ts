/**
 * The fields that a conversion drops or changes. A loss is named after the client's field: dotted, without indexes, such
 * as `input.content.detail`.
 */
import type { TypedField } from './typed-field.ts'
import type { ApiName, Ext, Extended, ModelRequest } from './types.ts'

/** A dialect's names for typed fields. Absent: it does not have the field, and cannot lose it. */
export type LossNames = Readonly<Partial<Record<TypedField, string>>>

/** The object that a field belongs to, which may have its own names for fields. */
type Owner = Pick<Extended, 'names'> | undefined

/** Of the response header with the losses. */
const MAX_BYTES = 1024

export class Losses {
  readonly #lost = new Set<string>()
  readonly #names: LossNames

  /** @param names of the client's dialect. */
  constructor(names: LossNames) {
    this.#names = names
  }

  /** The client's name for a typed field: from the first owner that has one, else the usual name. */
  name(field: TypedField, ...owners: Owner[]): string {
    for (const owner of owners) {
      const name = owner?.names?.[field]
      if (name !== undefined) return name
    }
    return this.#names[field] ?? field
  }

  /** Records the loss of a typed field. `owners`: see name(). */
  lose(field: TypedField, ...owners: Owner[]): void {
    this.#lost.add(this.name(field, ...owners))
  }

  /** Records a loss by the client's name for it. */
  add(name: string): void {
    this.#lost.add(name)
  }

  get names(): string[] {
    return [...this.#lost]
  }

  /** True when the typed field was lost, under its usual name. */
  hasLost(field: TypedField): boolean {
    return this.#lost.has(this.name(field))
  }

  /** The header value: whole names, joined by commas, up to 1 KiB, and `...` for the rest; undefined without losses. */
  header(): string | undefined {
    if (this.#lost.size === 0) return undefined
    let text = ''
    for (const name of this.#lost) {
      const plain = name.replace(/[^\x21-\x2b\x2d-\x7e]/g, '_')
      const comma = text === '' ? '' : ', '
      if (text.length + plain.length + 7 > MAX_BYTES) return `${text}${comma}...`
      text += comma + plain
    }
    return text
  }
}

/** Of a request whose bytes pass. */
export const NO_LOSSES: Pick<Losses, 'names' | 'header'> = new Losses({})

/** Adds every field in the request that only dialects other than `target` know. */
export function addExtLosses(request: ModelRequest, target: ApiName, losses: Losses): void {
  walk(request, (ext) => {
    if (ext.dialect === target) return
    for (const field of Object.keys(ext.fields)) losses.add(ext.at === '' ? field : `${ext.at}.${field}`)
  })
}

/** Calls `seen` with every ext below `node`. Skips schemas, items and client data. */
function walk(node: unknown, seen: (ext: Ext) => void): void {
  if (Array.isArray(node)) {
    for (const item of node) walk(item, seen)
    return
  }
  if (typeof node !== 'object' || node === null) return
  for (const [key, value] of Object.entries(node)) {
    if (key === 'ext') seen(value as Ext)
    else if (!OPAQUE.has(key)) walk(value, seen)
  }
}

const OPAQUE = new Set(['parameters', 'schema', 'item', 'tool', 'choice', 'metadata', 'carrier', 'logprobs'])
