/** What a row of the tables of conversion says. */
import { expect } from 'vitest'
import type { DialectName } from '../../../contract/endpoints.ts'

type Json = Record<string, unknown>

export type Verdict =
  /** The other dialect says it as this part of its body, and nothing is lost. */
  | { kind: 'exact'; body: Json }
  /** These fields are told as lost; what is left of it is this part of the body. */
  | { kind: 'lossy'; losses: string[]; body: Json }
  /** The request is refused, naming the field (or the beginning of its path). */
  | { kind: 'refused'; param: string; code: string }

export interface Row {
  /** Its family, as a loss would name it; several rows may show one family. */
  field: string
  /** What is special about this row. */
  note?: string
  /** Fields put into the least request of the dialect. */
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
