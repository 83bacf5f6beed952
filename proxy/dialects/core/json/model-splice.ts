/** Replaces the model in a request's bytes, for dialects whose requests pass otherwise unchanged. */

import type { RequestEdits } from '../byte-lane.ts'
import type { ParsedRequest } from '../request.ts'
import type { Member } from './scanned-body.ts'
import { type Cut, cutToSend, type SentBody, type Span, spanOf } from './splice.ts'

/** The positions that a splice needs. */
export interface ModelSpan {
  /** Of the value of `model` in the body. */
  model: Span
  /** Of limits on output tokens that are written but not set, such as null. */
  limits: Readonly<Record<string, Span>>
}

/** `members`: of a body that names its model. `limitFields`: see ModelSpan.limits. */
export function modelSpan(members: readonly Member[], limitFields: readonly string[] = []): ModelSpan {
  const model = spanOf(members, 'model')
  if (model === undefined) throw new TypeError('the request has no model')
  const limits: Record<string, Span> = {}
  for (const field of limitFields) {
    const span = spanOf(members, field)
    if (span !== undefined) limits[field] = span
  }
  return { model, limits }
}

/** The request's bytes with the edits; the body itself when nothing changes. */
export function splice(request: ParsedRequest<ModelSpan>, edits: RequestEdits): SentBody {
  return cutToSend(request.body, editCuts(request, edits))
}

/** Another model name, a limit on output tokens, and the further cuts. */
export function editCuts({ head, own }: ParsedRequest<ModelSpan>, edits: RequestEdits): Cut[] {
  const { model, limit, cuts = [] } = edits
  const all = [...cuts]
  const written = limit && own.limits[limit.field]
  const added = limit !== undefined && written === undefined ? `,"${limit.field}":${limit.tokens}` : ''
  if (model !== head.model) all.push({ ...own.model, text: JSON.stringify(model) + added })
  else if (added !== '') all.push({ start: own.model.end, end: own.model.end, text: added })
  if (limit !== undefined && written !== undefined) all.push({ ...written, text: String(limit.tokens) })
  return all
}
