/** Replaces the model in a request's bytes, for dialects whose requests pass otherwise unchanged. */

import type { RequestEdits } from '../byte-lane.ts'
import type { ParsedRequest } from '../request.ts'
import { type Member, scanObject } from './scanner.ts'
import { cut, type Span, spanOf } from './splice.ts'

/** parseRequest has already checked the limits. */
const NO_LIMITS = { maxDepth: Infinity, maxKeys: Infinity }

/** The span of each request's model, so that retries need not search for it again. */
const MODELS = new WeakMap<ParsedRequest, Span>()

/** Remembers where the scan of a request found the model. */
export function noteMembers(request: ParsedRequest, members: readonly Member[]): void {
  const span = spanOf(members, 'model')
  if (span !== undefined) MODELS.set(request, span)
}

/** The request's bytes with another model name and the cuts; the body itself when nothing changes. */
export function splice(request: ParsedRequest, edits: RequestEdits): Buffer {
  const { body, head } = request
  const { cuts = [] } = edits
  if (edits.model === head.model) return cut(body, cuts)
  const model = MODELS.get(request) ?? spanOf(scanObject(body, NO_LIMITS), 'model')
  if (model === undefined) throw new TypeError('the request has no model')
  return cut(body, [...cuts, { ...model, text: JSON.stringify(edits.model) }])
}
