/** Replaces the model in a request's bytes, for dialects whose requests pass otherwise unchanged. */

import type { RequestEdits } from '../byte-lane.ts'
import type { ParsedRequest } from '../request.ts'
import type { Member } from './scanner.ts'
import { cut, type Span, spanOf } from './splice.ts'

/** The positions that a splice needs. */
export interface ModelSpan {
  /** Of the value of `model` in the body. */
  model: Span
}

/** `members`: of a body that names its model. */
export function modelSpan(members: readonly Member[]): ModelSpan {
  const model = spanOf(members, 'model')
  if (model === undefined) throw new TypeError('the request has no model')
  return { model }
}

/** The request's bytes with another model name and the cuts; the body itself when nothing changes. */
export function splice({ body, head, own }: ParsedRequest<ModelSpan>, edits: RequestEdits): Buffer {
  const { cuts = [] } = edits
  if (edits.model === head.model) return cut(body, cuts)
  return cut(body, [...cuts, { ...own.model, text: JSON.stringify(edits.model) }])
}
