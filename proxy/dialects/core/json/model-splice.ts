/** Replaces the model of a request in its bytes, for dialects whose requests pass otherwise as they are. */
import type { ParsedRequest, RequestEdits } from '../dialect.ts'
import { type Member, scanObject } from './scanner.ts'
import { cut, type Span, spanOf } from './splice.ts'

/** A body that was parsed is within its limits. */
const NO_LIMITS = { maxDepth: Infinity, maxKeys: Infinity }

/** Where a request's model stands, so that it is not searched again for every attempt. */
const MODELS = new WeakMap<ParsedRequest, Span>()

/** Remembers what the scan of a request found. */
export function noteMembers(request: ParsedRequest, members: readonly Member[]): void {
  const span = spanOf(members, 'model')
  if (span !== undefined) MODELS.set(request, span)
}

/** The request's bytes with another model name; the body itself when that is its own. */
export function splice(request: ParsedRequest, edits: RequestEdits): Buffer {
  const { body, head } = request
  const { cuts = [] } = edits
  if (edits.model === head.model) return cut(body, cuts)
  const model = MODELS.get(request) ?? spanOf(scanObject(body, NO_LIMITS), 'model')
  if (model === undefined) throw new TypeError('the request has no model')
  return cut(body, [...cuts, { ...model, text: JSON.stringify(edits.model) }])
}
