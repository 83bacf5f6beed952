/** The content of a row in the tables of conversion. */
import { expect } from 'vitest'
import type { DialectName } from './codecs.ts'

type Json = Record<string, unknown>

export type Verdict =
  /** The other dialect has it as this part of the body, without a loss. */
  | { kind: 'exact'; body: Json }
  /** These fields are losses; the rest is this part of the body. */
  | { kind: 'lossy'; losses: string[]; body: Json }
  /** The request is refused, naming the field (or the beginning of its path). */
  | { kind: 'refused'; param: string; code: string }

export interface Row {
  /** Its name as a loss; several rows may have the same one. */
  field: string
  /** The special case that this row tests. */
  note?: string
  /** Fields that are added to a minimal request of the dialect. */
  body: Json
  to: Partial<Record<DialectName, Verdict>>
}

export const exact = (body: Json = {}): Verdict => ({ kind: 'exact', body })
export const lossy = (losses: string | string[], body: Json = {}): Verdict => ({
  kind: 'lossy',
  losses: [losses].flat().sort(),
  body,
})
export const refused = (param: string, code = 'unsupported_parameter'): Verdict => ({
  kind: 'refused',
  param,
  code,
})

/** Matches a list that has an element like this one. */
export const holding = (element: Json) => expect.arrayContaining([expect.objectContaining(element)])
